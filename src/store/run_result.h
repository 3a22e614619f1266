// What came of a run: the contract's object for `run`, and what report.md is made of.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "evaluation/evaluation.h"

namespace recuda {

enum class StoppedBy { candidates, time, budget, converged, interrupt, waiting };
std::string_view name(StoppedBy reason);

struct RunResult {
    std::string run, task, out_dir, preset;
    std::string device_kind, device_name, device_target;
    bool measures_time = false;
    std::vector<Evaluation> evaluations;  // the last of each candidate, best first
    std::optional<Evaluation> best;
    std::string best_file;  // "OUT/best.cu"; "" without a best one
    StoppedBy stopped_by = StoppedBy::candidates;
    std::string exhausted;  // with `converged`: what there is no more of
    double seconds = 0;     // of this start of the run
    size_t promotions = 0;  // proofs of this run, earlier starts included: their claims share one level

    /// How many candidates came out how; they add up to the number of evaluations.
    std::map<std::string, int64_t> outcomes() const;
};

nlohmann::json to_json(const RunResult& result);

/// Orders evaluations of different candidates for people: right ones that were proven, that were judged whole, that
/// were screened, each by ranks_before, then the others in the order they came.
void sort_best_first(std::vector<Evaluation>& evaluations);

}  // namespace recuda
