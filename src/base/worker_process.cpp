#include "base/worker_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/process.h"
#include "base/spawn.h"

namespace recuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kMessageLimitBytes = 0xffffffffu;

/// Reads exactly `size` bytes; false at the end of the stream, on an error and past the deadline.
bool read_exactly(int descriptor, void* to, size_t size, const Clock::time_point* deadline, bool& timed_out) {
    auto* at = static_cast<char*>(to);
    while (size > 0) {
        if (deadline != nullptr) {
            pollfd wanted{descriptor, POLLIN, 0};
            const int ready = ::poll(&wanted, 1, milliseconds_until(*deadline));
            if (ready < 0 && errno == EINTR) continue;
            if (ready == 0) timed_out = true;
            if (ready <= 0) return false;
        }
        const ssize_t count = ::read(descriptor, at, size);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        at += count;
        size -= static_cast<size_t>(count);
    }
    return true;
}

/// With a deadline it writes in parts that a pipe takes whole once it is writable (PIPE_BUF), so that no write blocks.
bool write_all(int descriptor, std::string_view bytes, const Clock::time_point* deadline = nullptr) {
    while (!bytes.empty()) {
        if (deadline != nullptr) {
            pollfd wanted{descriptor, POLLOUT, 0};
            const int ready = ::poll(&wanted, 1, milliseconds_until(*deadline));
            if (ready < 0 && errno == EINTR) continue;
            if (ready <= 0) return false;
        }
        const ssize_t count = ::write(descriptor, bytes.data(),
                                      deadline == nullptr ? bytes.size() : std::min<size_t>(bytes.size(), PIPE_BUF));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return false;
        bytes.remove_prefix(static_cast<size_t>(count));
    }
    return true;
}

std::string length_prefix(std::string_view message) {
    if (message.size() > kMessageLimitBytes) throw Error("a message of {} bytes is too long", message.size());
    const auto size = static_cast<uint32_t>(message.size());
    return std::string(reinterpret_cast<const char*>(&size), sizeof size);
}

std::string describe(int status) {
    if (WIFSIGNALED(status))
        return fmt::format("killed by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
    return fmt::format("exit status {}", WEXITSTATUS(status));
}

}  // namespace

WorkerProcess::WorkerProcess(const std::vector<std::string>& command) {
    Pipe input, output;
    pid_ = start(command, {input.read, output.write, -1}, {});
    to_ = std::exchange(input.write, -1);
    from_ = std::exchange(output.read, -1);
}

WorkerProcess::WorkerProcess(WorkerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      to_(std::exchange(other.to_, -1)),
      from_(std::exchange(other.from_, -1)),
      ending_(std::move(other.ending_)) {}

WorkerProcess& WorkerProcess::operator=(WorkerProcess&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(to_, other.to_);
    std::swap(from_, other.from_);
    std::swap(ending_, other.ending_);
    return *this;
}

WorkerProcess::~WorkerProcess() { kill(); }

bool WorkerProcess::send(std::string_view message) {
    return running() && write_all(to_, length_prefix(message)) && write_all(to_, message);
}

bool WorkerProcess::send(std::string_view message, double deadline_s) {
    if (!running()) return false;
    const Clock::time_point deadline = Clock::now() + seconds(deadline_s);
    return write_all(to_, length_prefix(message), &deadline) && write_all(to_, message, &deadline);
}

bool WorkerProcess::stirs(double deadline_s) const {
    pollfd wanted{from_, POLLIN, 0};
    return !running() || ::poll(&wanted, 1, milliseconds_until(Clock::now() + seconds(deadline_s))) > 0;
}

WorkerProcess::Received WorkerProcess::receive(std::string& message, double deadline_s, uint32_t limit_bytes) {
    if (!running()) return Received::gone;
    const Clock::time_point deadline = Clock::now() + seconds(deadline_s);
    bool timed_out = false;
    uint32_t size = 0;
    if (read_exactly(from_, &size, sizeof size, &deadline, timed_out)) {
        if (size > limit_bytes) {
            kill();
            ending_ = fmt::format("killed for a message of {} bytes", size);
            return Received::gone;
        }
        message.resize(size);
        if (read_exactly(from_, message.data(), size, &deadline, timed_out)) return Received::message;
    }
    if (timed_out) return Received::timed_out;
    // The pipe has ended: give the child a moment to end by itself, so that `ending` tells its own status.
    for (int i = 0; i < 50; ++i) {
        int status = 0;
        if (::waitpid(pid_, &status, WNOHANG) == pid_) {
            ending_ = describe(status);
            ::kill(-pid_, SIGKILL);
            pid_ = -1;
            break;
        }
        ::usleep(2000);
    }
    kill();
    return Received::gone;
}

void WorkerProcess::kill() {
    close_descriptor(to_);
    close_descriptor(from_);
    if (pid_ <= 0) return;
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
    ending_ = describe(await(std::exchange(pid_, -1)));
}

std::optional<std::string> read_message(int descriptor) {
    bool timed_out = false;
    uint32_t size = 0;
    if (!read_exactly(descriptor, &size, sizeof size, nullptr, timed_out)) return std::nullopt;
    std::string message(size, '\0');
    if (!read_exactly(descriptor, message.data(), size, nullptr, timed_out)) return std::nullopt;
    return message;
}

void write_message(int descriptor, std::string_view message) {
    if (!write_all(descriptor, length_prefix(message)) || !write_all(descriptor, message))
        throw Error("the other side of the pipe is gone");
}

std::string framed_message(std::string_view message) { return length_prefix(message).append(message); }

}  // namespace recuda
