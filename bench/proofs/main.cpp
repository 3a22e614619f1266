// proofs: how well a machine can prove. Kernels are compared with copies of themselves through the sessions of a proof:
// what comes out says how often this machine would claim a win that there is not, and how far the times of one kernel
// differ from session to session, which decides how many sessions a proof needs.
//
//   proofs [--seconds S] [--tokens 1,64,512] TASK …      on a GPU; one proof of each task in turns until time is up
//
// Prints one JSON object a line: the environment, then for each proof {"task", "wall_s", "comparisons", "proof"} with
// all samples. bench/proofs/spread.py makes figures of them.
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/text.h"
#include "build/builder.h"
#include "device/cuda/cuda.h"
#include "judge/proof_verdict.h"
#include "judge/session.h"
#include "recuda_version.h"
#include "search/deadline.h"
#include "task/catalogue.h"

namespace recuda {
namespace {

using Clock = std::chrono::steady_clock;

struct Words {
    double seconds = 240;
    std::vector<std::string> tokens, tasks;
};

Words parse(std::span<char*> words) {
    Words parsed;
    std::string tokens = "1,64,512";
    for (size_t i = 1; i < words.size(); ++i) {
        const std::string_view word = words[i];
        const bool more = i + 1 < words.size();
        if (word == "--seconds" && more)
            parsed.seconds = std::stod(words[++i]);
        else if (word == "--tokens" && more)
            tokens = words[++i];
        else
            parsed.tasks.emplace_back(word);
    }
    if (parsed.tasks.empty()) throw UsageError("usage: proofs [--seconds S] [--tokens 1,64,512] TASK …");
    for (const std::string_view number : split(tokens, ',')) parsed.tokens.emplace_back(number);
    return parsed;
}

void print(const Json& record) {
    std::puts(dump(record).c_str());
    std::fflush(stdout);
}

Json environment(const Session& session) {
    const DeviceInfo& info = session.info();
    return {{"environment",
             {{"program", fmt::format("cuda-rlm {}", kVersion)},
              {"device", info.name},
              {"target", info.target},
              {"driver", info.driver},
              {"sm_count", info.sm_count},
              {"l2_bytes", info.l2_bytes},
              {"memory_peaks", to_json(session.peaks())}}}};
}

/// One proof of the task's plain seed against its copy; false where time was up.
bool prove_equal(const Task& task, const Words& words, Builder& builder, bool first, const std::stop_token& stop) {
    const Clock::time_point start = Clock::now();
    std::vector<Axes> axes;
    for (const std::string& tokens : words.tokens) axes.push_back(axes_from_text(task, "T=" + tokens));
    Session session(task, make_cuda(), builder, {.baselines = {}, .axes = axes});
    if (first) print(environment(session));
    const std::optional<Proof> proof = session.self_test(stop);
    if (!proof) return false;
    Json comparisons = Json::array();
    for (const Comparison& comparison : comparisons_of(*proof)) comparisons.push_back(to_json(comparison));
    print({{"task", task.name},
           {"wall_s", std::chrono::duration<double>(Clock::now() - start).count()},
           {"comparisons", std::move(comparisons)},
           {"proof", to_json(*proof)}});
    return true;
}

int run(const Words& words) {
    const Deadline deadline(words.seconds, {});
    const std::unique_ptr<Builder> builder = make_builder();
    Catalogue catalogue(home_folder());
    for (size_t i = 0;; ++i)
        if (!prove_equal(catalogue.task(words.tasks[i % words.tasks.size()]), words, *builder, i == 0,
                         deadline.token()))
            return 0;
}

}  // namespace
}  // namespace recuda

/// The program is its own compile worker and its own GPU worker.
int main(int count, char** words) {
    using namespace recuda;
    const std::string_view verb = count > 1 ? words[1] : "";
    try {
        if (verb == "compile-worker") return serve_compile_worker();
        if (verb == "worker") return serve_cuda_worker(0);
        return run(parse({words, static_cast<size_t>(count)}));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "proofs: error: %s\n", error.what());
        return 1;
    }
}
