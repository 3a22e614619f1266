// The search: propose, judge, record, until the budget is spent. What it knows of the judge is Evaluator, of the disk
// RunFolder, and of where candidates come from Proposer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "store/run_result.h"

namespace recuda {

class Evaluator;
class Proposer;
class RunFolder;

struct SearchOptions {
    std::string preset = "offline";
    size_t num_candidates = 24;    // distinct ones in all, those of earlier starts included
    unsigned repair_attempts = 2;  // of a chain of a model's candidates
    double time_limit_s = 0;       // 0: none
    uint64_t seed = 0;
    bool retrieval = false;
    std::string program;
    std::string policy;  // a JSON object, as it was read; "": the usual one
    std::vector<std::string> baselines{"plain"};
    size_t finalists = 3;  // right ones that are judged whole at the end
};

/// The options as run.json keeps them, a JSON object.
std::string shown(const SearchOptions& options);

struct SearchProgress {
    enum class Stage { screening, race, whole, proof } stage = Stage::screening;
    size_t done = 0, total = 0;  // candidates, finalists, or sessions of the proof
    const Evaluation* best = nullptr;
};

struct SearchParts {
    Evaluator& evaluator;
    Proposer& proposer;
    RunFolder& folder;
};

/// Searches until the candidates, the time or the proposer are at an end, or `stop` is requested; then lets right ones
/// race where there is a clock, judges the best few whole, proves the winner against the baselines, writes best.cu and
/// run.json, and brings results.duckdb up to date. A finalist that is wrong on the whole list of workloads or in its
/// proof loses, and the next one takes its place. What is recorded in the folder is not judged again.
///
/// A run whose model's answer is awaited ends without finalists. With a time limit the last quarter of it is kept for
/// the finalists, once there are any. Throws Error when the world fails; what was recorded is kept.
RunResult search(const SearchParts& parts, const SearchOptions& options, const std::stop_token& stop,
                 const std::function<void(const SearchProgress&)>& progress = {});

}  // namespace recuda
