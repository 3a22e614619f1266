#include "base/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/process.h"

extern char** environ;

namespace recuda {
namespace {

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

/// Between fork and exec only async-signal-safe calls are made; a failed exec comes back through a close-on-exec pipe.
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

/// A write to a pipe whose reader is gone is an error we handle, not a signal.
const bool kIgnoresBrokenPipes = [] {
    ::signal(SIGPIPE, SIG_IGN);
    return true;
}();

}  // namespace

void close_descriptor(int& descriptor) {
    if (descriptor >= 0) ::close(std::exchange(descriptor, -1));
}

Pipe::Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw Error("cannot make a pipe: {}", std::strerror(errno));
    read = ends[0];
    write = ends[1];
}

Pipe::~Pipe() {
    close_descriptor(read);
    close_descriptor(write);
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

int milliseconds_until(std::chrono::steady_clock::time_point deadline) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    return static_cast<int>(std::clamp<int64_t>(left + 1, 0, 1 << 30));
}

std::chrono::milliseconds seconds(double count) {
    return std::chrono::milliseconds(static_cast<int64_t>(std::min(count, 1e9) * 1000));
}

}  // namespace recuda
