#include "base/process.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>

#include "base/error.h"
#include "base/spawn.h"

namespace recuda {
namespace {

using Clock = std::chrono::steady_clock;

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

/// A descriptor that can be read once the child has ended; -1 where the kernel has none.
class EndOfChild {
 public:
    explicit EndOfChild(pid_t child) : descriptor_(static_cast<int>(::syscall(kPidfdOpen, child, 0))) {}
    EndOfChild(const EndOfChild&) = delete;
    ~EndOfChild() { close_descriptor(descriptor_); }
    int descriptor() const { return descriptor_; }

 private:
    static constexpr long kPidfdOpen = 434;
    int descriptor_;
};

/// Feeds stdin and drains both outputs until they end, the deadline passes or stop is requested. Once the child has
/// ended, a grandchild that holds them is not waited for.
void exchange(pid_t child, int& input, int output, int error, const ProcessOptions& options, ProcessResult& result) {
    constexpr double kLinger = 0.5;
    Clock::time_point deadline = Clock::now() + seconds(options.deadline_s);
    const EndOfChild end(child);
    bool has_ended = false;
    const StopPipe stop(options.stop);
    std::string_view unsent = options.input;
    std::array<pollfd, 5> wanted{pollfd{input, POLLOUT, 0}, pollfd{output, POLLIN, 0}, pollfd{error, POLLIN, 0},
                                 pollfd{stop.descriptor(), POLLIN, 0}, pollfd{end.descriptor(), POLLIN, 0}};
    char part[1 << 16];
    while (wanted[1].fd >= 0 || wanted[2].fd >= 0) {
        if (unsent.empty()) {
            close_descriptor(input);
            wanted[0].fd = -1;
        }
        const int ready = ::poll(wanted.data(), wanted.size(), milliseconds_until(deadline));
        if (ready < 0 && errno == EINTR) continue;
        result.stopped = options.stop.stop_requested();
        result.timed_out = ready <= 0 && !result.stopped && !has_ended;
        if (result.stopped || ready <= 0) return;
        if (wanted[4].fd >= 0 && wanted[4].revents != 0) {
            has_ended = true;
            wanted[4].fd = -1;
            deadline = std::min(deadline, Clock::now() + seconds(kLinger));
        }
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

}  // namespace

ProcessResult run_process(const std::vector<std::string>& command, const ProcessOptions& options) {
    const Clock::time_point started = Clock::now();
    Pipe input, output, error;
    const pid_t child = start(command, {input.read, output.write, error.write}, options);
    close_descriptor(input.read);
    close_descriptor(output.write);
    close_descriptor(error.write);
    ProcessResult result;
    exchange(child, input.write, output.read, error.read, options, result);
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

std::string this_program() {
    std::array<char, 4096> path{};
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
    if (length < 0) throw Error("cannot find the running program: {}", std::strerror(errno));
    return std::string(path.data(), static_cast<size_t>(length));
}

}  // namespace recuda
