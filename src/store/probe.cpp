#include "store/probe.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <array>
#include <chrono>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file.h"
#include "base/json.h"
#include "base/process.h"
#include "store/duckdb_library.h"
#include "store/store.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kRefused = 3, kLocked = 4;  // exit statuses of the child
constexpr milliseconds kPoll{100};
constexpr double kDeadline = 30, kBytesPerSecond = 20e6;
constexpr char kDamaged[] = "it is damaged", kMoveAway[] = "name another store, or move this file away";

/// What changes when the file or its write-ahead log is written or replaced.
using Identity = std::array<int64_t, 10>;

Identity identity_of(const fs::path& path) {
    Identity identity{};
    size_t at = 0;
    for (const std::string& file : {path.native(), path.native() + ".wal"}) {
        struct stat facts {};
        if (::stat(file.c_str(), &facts) != 0) facts = {};
        for (const int64_t fact :
             {static_cast<int64_t>(facts.st_dev), static_cast<int64_t>(facts.st_ino),
              static_cast<int64_t>(facts.st_size), int64_t{facts.st_mtim.tv_sec}, int64_t{facts.st_mtim.tv_nsec}})
            identity[at++] = fact;
    }
    return identity;
}

/// The files that are good, as they were then.
class Known {
 public:
    bool has(const fs::path& path, const Identity& identity) {
        const std::scoped_lock lock(guard_);
        const auto found = files_.find(real(path));
        return found != files_.end() && found->second == identity;
    }
    void add(const fs::path& path, const Identity& identity) {
        const std::scoped_lock lock(guard_);
        files_[real(path)] = identity;
    }
    /// Never destroyed: stores may outlive statics.
    static Known& only() {
        static auto* known = new Known;
        return *known;
    }

 private:
    static fs::path real(const fs::path& path) {
        std::error_code ignored;
        const fs::path real = fs::weakly_canonical(path, ignored);
        return real.empty() ? path : real;
    }
    std::mutex guard_;
    std::map<fs::path, Identity> files_;
};

/// What the child says: "" where the file is good.
struct Answer {
    bool locked = false;
    std::string why, advice;
};

Answer answer_of(const ProcessResult& result) {
    if (!result.timed_out && result.status == 0) return {};
    const Json said = Json::parse(result.out, nullptr, false);
    const bool spoke = !result.timed_out && (result.status == kRefused || result.status == kLocked);
    if (!spoke || !said.is_object()) return {.why = kDamaged, .advice = kMoveAway};
    return {.locked = result.status == kLocked,
            .why = said.value("why", kDamaged),
            .advice = said.value("advice", kMoveAway)};
}

Answer ask(const fs::path& path) {
    std::vector<std::string> command = probe_command();
    command.push_back(fs::absolute(path).native());
    std::error_code ignored;
    const uintmax_t size = fs::file_size(path, ignored);
    const double reading = ignored ? 0 : static_cast<double>(size) / kBytesPerSecond;
    return answer_of(run_process(command, {.deadline_s = kDeadline + reading}));
}

}  // namespace

void probe(const fs::path& path, const LockWait& wait) {
    duckdb_library();  // where there is none, that is what is wrong
    const Clock::time_point begun = Clock::now(), end = begun + milliseconds(static_cast<int64_t>(wait.seconds * 1000));
    bool told = false;
    while (true) {
        const Identity identity = identity_of(path);
        if (Known::only().has(path, identity)) return;
        const Answer answer = ask(path);
        if (answer.why.empty()) return Known::only().add(path, identity);
        if (!answer.locked) throw StoreProblem(path, answer.why, answer.advice);
        if (Clock::now() >= end || wait.stop.stop_requested()) throw StoreLocked(path, answer.why, answer.advice);
        if (!told && wait.notice && Clock::now() - begun > std::chrono::seconds(1)) {
            told = true;
            wait.notice(answer.why);
        }
        std::this_thread::sleep_for(kPoll);
    }
}

void remember(const fs::path& path) { Known::only().add(path, identity_of(path)); }

std::vector<std::string>& probe_command() {
    static std::vector<std::string> command{this_program(), "store-probe"};
    return command;
}

int serve_probe(const fs::path& path) {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    const auto say = [](const StoreProblem& problem, int status) {
        fmt::print("{}\n", dump(Json{{"why", problem.why()}, {"advice", problem.advice()}}));
        std::fflush(stdout);
        return status;
    };
    try {
        read_store(path);
        return 0;
    } catch (const StoreLocked& problem) {
        return say(problem, kLocked);
    } catch (const StoreProblem& problem) {
        return say(problem, kRefused);
    }
}

}  // namespace recuda
