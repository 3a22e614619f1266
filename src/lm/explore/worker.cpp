// The child's side of session.h: a process that waits, and below it the one that has the Lua state.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/jail.h"
#include "base/json.h"
#include "base/worker_process.h"
#include "lm/explore/sandbox.h"
#include "lm/explore/session.h"

extern char** environ;

namespace recuda {
namespace {

constexpr uint64_t kBesidesLua = uint64_t{512} << 20;  // the program itself, and values on their way as JSON

/// The timer that kills this process (SIGPROF) unless it is stopped in time. It counts what the process computes, so
/// that a busy machine ends no other programs than an idle one; a program has no call that only waits. Children do not
/// inherit it.
class Timer {
 public:
    void start(double seconds) {
        const double whole = std::floor(seconds);
        set({.tv_sec = static_cast<time_t>(whole), .tv_usec = static_cast<suseconds_t>((seconds - whole) * 1e6) + 1});
    }
    /// Gives the seconds that were left.
    double stop() {
        const timeval left = set({});
        return static_cast<double>(left.tv_sec) + static_cast<double>(left.tv_usec) * 1e-6;
    }

 private:
    static timeval set(timeval value) {
        const itimerval wanted{.it_interval = {}, .it_value = value};
        itimerval before{};
        ::setitimer(ITIMER_PROF, &wanted, &before);
        return before.it_value;
    }
};

/// API keys are none of a program's business: their bytes are gone from this process, not only their names.
void forget_environment() {
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
        ::explicit_bzero(*variable, std::strlen(*variable));
    environ = nullptr;
}

Json next_message() {
    const std::optional<std::string> message = read_message(STDIN_FILENO);
    if (!message) ::_exit(0);  // nobody asks any more
    return parse_json(*message, "a message of the session");
}

void answer(const Json& message) { write_message(STDOUT_FILENO, dump(message)); }

/// Asks the host. The timer rests meanwhile, and is not set while a message is half written.
HostReply call_host(Timer& timer, const std::string& function, const Json& arguments) {
    const double left = timer.stop();
    answer({{"call", function}, {"arguments", arguments}});
    Json told = next_message();
    HostReply reply;
    reply.ends = told.value("end", false);
    reply.error = told.value("error", "");
    if (told.contains("value")) reply.value = std::move(told["value"]);
    timer.start(left);
    return reply;
}

std::string why_died(int status, double seconds) {
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
        return fmt::format("it took longer than {} s of computing", seconds);
    if (WIFSIGNALED(status)) return fmt::format("its process was killed by signal {}", WTERMSIG(status));
    return "its process ended";
}

/// Makes the child that runs the next program, and returns in it alone; or returns in the parent after the child died.
/// The parent of a child that has come to the end of its program has no more to do.
enum class Side { child, parent };
Side branch(int& to_parent, int& status) {
    int ends[2];
    if (::pipe(ends) != 0) throw Error("cannot make a pipe: {}", std::strerror(errno));
    const pid_t child = ::fork();
    if (child < 0) throw Error("cannot fork: {}", std::strerror(errno));
    if (child == 0) {
        ::close(ends[0]);
        to_parent = ends[1];
        return Side::child;
    }
    ::close(ends[1]);
    char word = 0;
    while (::read(ends[0], &word, 1) < 0 && errno == EINTR) {
    }
    if (word != 0) ::_exit(0);
    ::close(ends[0]);
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return Side::parent;
}

[[noreturn]] void serve(const Json& setup) {
    Timer timer;
    const double seconds = setup.at("seconds").get<double>();
    Sandbox sandbox(
        {.variables = setup.at("variables"),
         .functions = setup.at("functions").get<std::vector<std::string>>(),
         .limits = {.memory_bytes = setup.at("memory_bytes").get<uint64_t>(),
                    .instructions = setup.at("instructions").get<uint64_t>(),
                    .output_bytes = setup.at("output_bytes").get<uint64_t>()},
         .seed = setup.at("seed").get<uint64_t>()},
        [&](const std::string& function, const Json& arguments) { return call_host(timer, function, arguments); });
    answer({{"ready", true}});
    while (true) {
        const std::string code = next_message().at("run").get<std::string>();
        int to_parent = -1, status = 0;
        if (branch(to_parent, status) == Side::parent) {
            answer({{"died", why_died(status, seconds)}});
            continue;
        }
        timer.start(seconds);
        const Sandbox::End end = sandbox.run(code);
        timer.stop();
        if (::write(to_parent, "+", 1) != 1) ::_exit(1);
        ::close(to_parent);
        answer({{"output", end.output}, {"error", end.error}});
    }
}

/// In a child of its own, whose children become ours when it is done: this process stays what the host started, and
/// ends when the last of them has.
[[noreturn]] void serve_in_child(const Json& setup) {
    try {
        serve(setup);
    } catch (const std::exception& error) {
        answer({{"failed", error.what()}});
        ::_exit(1);
    }
}

}  // namespace

int serve_explore_worker() {
    const std::optional<std::string> first = read_message(STDIN_FILENO);
    if (!first) return 0;
    forget_environment();
    try {
        const Json setup = parse_json(*first, "the setup of the session");
        enter_jail({.memory_bytes = setup.at("memory_bytes").get<uint64_t>() + 8 * first->size() + kBesidesLua,
                    .file_bytes = 0});
        ::prctl(PR_SET_CHILD_SUBREAPER, 1);
        const pid_t child = ::fork();
        if (child < 0) throw Error("cannot fork: {}", std::strerror(errno));
        if (child == 0) serve_in_child(setup);
    } catch (const std::exception& error) {
        answer({{"failed", error.what()}});
        return 1;
    }
    ::close(STDIN_FILENO);
    ::close(STDOUT_FILENO);
    while (::wait(nullptr) > 0 || errno == EINTR) {
    }
    return 0;
}

}  // namespace recuda
