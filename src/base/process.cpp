#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "base/error.h"

extern char** environ;

namespace recuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kMessageLimitBytes = 0xffffffffu;

void close_descriptor(int& descriptor) {
    if (descriptor >= 0) ::close(std::exchange(descriptor, -1));
}

struct Pipe {
    int read = -1, write = -1;
    Pipe() {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) throw Error("cannot make a pipe: {}", std::strerror(errno));
        read = ends[0];
        write = ends[1];
    }
    Pipe(const Pipe&) = delete;
    ~Pipe() {
        close_descriptor(read);
        close_descriptor(write);
    }
};

/// "KEY=VALUE" strings of our environment, changed as the options say.
std::vector<std::string> environment_for(const ProcessOptions& options) {
    std::vector<std::string> variables;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string_view text = *variable;
        const std::string name(text.substr(0, text.find('=')));
        const bool left_out = std::find(options.without.begin(), options.without.end(), name) != options.without.end();
        if (!left_out && !options.environment.contains(name)) variables.emplace_back(text);
    }
    for (const auto& [name, value] : options.environment) variables.push_back(name + "=" + value);
    return variables;
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
    std::vector<char*> all;
    for (const std::string& string : strings) all.push_back(const_cast<char*>(string.c_str()));
    all.push_back(nullptr);
    return all;
}

/// Runs functions on one thread that lives as long as the process. Children are started there, because
/// PR_SET_PDEATHSIG fires when the thread that forked ends, not when its process does (prctl(2)).
class Spawner {
 public:
    template <typename Function>
    auto run(Function function) {
        std::packaged_task<decltype(function())()> task(std::move(function));
        auto result = task.get_future();
        {
            const std::lock_guard lock(mutex_);
            waiting_.emplace_back([&task] { task(); });
        }
        arrived_.notify_one();
        return result.get();
    }

    /// Never destroyed: its thread ends with the process.
    static Spawner& only() {
        static auto* spawner = new Spawner;
        return *spawner;
    }

 private:
    Spawner() {
        std::thread([this] {
            while (true) {
                std::unique_lock lock(mutex_);
                arrived_.wait(lock, [this] { return !waiting_.empty(); });
                const std::function<void()> next = std::move(waiting_.front());
                waiting_.pop_front();
                lock.unlock();
                next();
            }
        }).detach();
    }

    std::mutex mutex_;
    std::condition_variable arrived_;
    std::deque<std::function<void()>> waiting_;
};

/// Starts `command` in a process group of its own with the three descriptors (-1: inherited) as its standard streams.
/// The child dies with us. Between fork and exec only async-signal-safe calls are made; a failed exec comes back
/// through a close-on-exec pipe.
pid_t start_here(const std::vector<std::string>& command, std::array<int, 3> streams, const ProcessOptions& options) {
    Pipe failure;
    const std::vector<std::string> environment = environment_for(options);
    const std::vector<char*> arguments = pointers(command), variables = pointers(environment);
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) throw Error("cannot start {}: {}", command.front(), std::strerror(errno));
    if (child == 0) {
        ::setpgid(0, 0);
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(127);
        for (int i = 0; i < 3; ++i)
            if (streams[i] >= 0) ::dup2(streams[i], i);
        sigset_t none;
        ::sigemptyset(&none);
        ::sigprocmask(SIG_SETMASK, &none, nullptr);  // ours blocks SIGINT, see interrupt.h
        ::signal(SIGINT, SIG_DFL);
        ::signal(SIGTERM, SIG_DFL);
        ::signal(SIGPIPE, SIG_DFL);
        if (options.folder.empty() || ::chdir(options.folder.c_str()) == 0)
            ::execvpe(arguments[0], arguments.data(), variables.data());
        const int why = errno;
        if (::write(failure.write, &why, sizeof why) < 0) ::_exit(126);
        ::_exit(127);
    }
    ::setpgid(child, child);
    close_descriptor(failure.write);
    int why = 0;
    if (::read(failure.read, &why, sizeof why) == sizeof why) {
        ::waitpid(child, nullptr, 0);
        throw Error("cannot start {}: {}", command.front(), std::strerror(why));
    }
    return child;
}

pid_t start(const std::vector<std::string>& command, std::array<int, 3> streams, const ProcessOptions& options) {
    return Spawner::only().run([&] { return start_here(command, streams, options); });
}

int await(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

int milliseconds_until(Clock::time_point deadline) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    return static_cast<int>(std::clamp<int64_t>(left + 1, 0, 1 << 30));
}

std::chrono::milliseconds seconds(double count) {
    return std::chrono::milliseconds(static_cast<int64_t>(std::min(count, 1e9) * 1000));
}

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

/// A descriptor that can be read from once stop is requested.
class StopPipe {
 public:
    explicit StopPipe(const std::stop_token& stop)
        : callback_(stop, [this] {
              // The pipe is empty, so that the byte fits.
              if (::write(pipe_.write, "", 1) < 0) close_descriptor(pipe_.write);
          }) {}
    int descriptor() const { return pipe_.read; }

 private:
    Pipe pipe_;
    std::stop_callback<std::function<void()>> callback_;
};

/// Feeds stdin and drains both outputs until they end, the deadline passes or stop is requested.
void exchange(int& input, int output, int error, const ProcessOptions& options, ProcessResult& result) {
    const Clock::time_point deadline = Clock::now() + seconds(options.deadline_s);
    const StopPipe stop(options.stop);
    std::string_view unsent = options.input;
    std::array<pollfd, 4> wanted{pollfd{input, POLLOUT, 0}, pollfd{output, POLLIN, 0}, pollfd{error, POLLIN, 0},
                                 pollfd{stop.descriptor(), POLLIN, 0}};
    char part[1 << 16];
    while (wanted[1].fd >= 0 || wanted[2].fd >= 0) {
        if (unsent.empty()) {
            close_descriptor(input);
            wanted[0].fd = -1;
        }
        const int ready = ::poll(wanted.data(), wanted.size(), milliseconds_until(deadline));
        if (ready < 0 && errno == EINTR) continue;
        result.stopped = options.stop.stop_requested();
        result.timed_out = ready <= 0 && !result.stopped;
        if (result.stopped || result.timed_out) return;
        if (wanted[0].fd >= 0 && wanted[0].revents != 0) {
            const ssize_t count = ::write(input, unsent.data(), std::min<size_t>(unsent.size(), 4096));
            if (count > 0)
                unsent.remove_prefix(static_cast<size_t>(count));
            else if (errno != EINTR && errno != EAGAIN)
                unsent = {};
        }
        for (int i : {1, 2}) {
            if (wanted[i].fd < 0 || wanted[i].revents == 0) continue;
            const ssize_t count = ::read(wanted[i].fd, part, sizeof part);
            if (count < 0 && errno == EINTR) continue;
            if (count <= 0) {
                wanted[i].fd = -1;
                continue;
            }
            std::string& kept = i == 1 ? result.out : result.err;
            kept.append(part, std::min<size_t>(static_cast<size_t>(count), options.output_limit_bytes - kept.size()));
        }
    }
}

/// Whether the child has ended, with its status; waits for `grace_s` at most.
bool ended(pid_t child, double grace_s, int& status) {
    const Clock::time_point deadline = Clock::now() + seconds(grace_s);
    while (::waitpid(child, &status, WNOHANG) == 0) {
        if (Clock::now() >= deadline) return false;
        ::usleep(500);
    }
    return true;
}

std::string describe(int status) {
    if (WIFSIGNALED(status))
        return fmt::format("killed by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
    return fmt::format("exit status {}", WEXITSTATUS(status));
}

/// A write to a pipe whose reader is gone is an error we handle, not a signal.
const bool kIgnoresBrokenPipes = [] {
    ::signal(SIGPIPE, SIG_IGN);
    return true;
}();

}  // namespace

ProcessResult run_process(const std::vector<std::string>& command, const ProcessOptions& options) {
    const Clock::time_point started = Clock::now();
    Pipe input, output, error;
    const pid_t child = start(command, {input.read, output.write, error.write}, options);
    close_descriptor(input.read);
    close_descriptor(output.write);
    close_descriptor(error.write);
    ProcessResult result;
    exchange(input.write, output.read, error.read, options, result);
    // Its outputs may end before it does; grandchildren may outlive it. Both are bounded by the deadline, then the
    // group is killed.
    int status = 0;
    const Clock::time_point deadline = started + seconds(options.deadline_s);
    bool over = false;
    while (!result.timed_out && !result.stopped && !(over = ended(child, 0, status))) {
        result.stopped = options.stop.stop_requested();
        result.timed_out = !result.stopped && Clock::now() >= deadline;
        ::usleep(500);
    }
    if (!over && options.grace_s > 0) {
        ::kill(-child, SIGTERM);
        over = ended(child, options.grace_s, status);
    }
    ::kill(-child, SIGKILL);
    if (!over) status = await(child);
    result.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return result;
}

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

std::string this_program() {
    std::array<char, 4096> path{};
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
    if (length < 0) throw Error("cannot find the running program: {}", std::strerror(errno));
    return std::string(path.data(), static_cast<size_t>(length));
}

}  // namespace recuda
