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

/// What one kind of step gave: "propose", "repair", "improve", "combine" of a model, or "seed", "tune", "retrieved".
struct StepGain {
    std::string step;
    size_t asked = 0;  // answers that a model gave; 0 where none is asked
    size_t candidates = 0, right = 0;
    std::string best_digest;     // of its right ones, "" without one
    std::optional<double> best;  // median or estimate of that one
    double gain = 1;             // product over its new records of the search: the best before over the record
};

/// The best of one side against the best of the other: ratio = seed / model, above 1 where the model's is better. The
/// interval is from the times' own intervals and no proof; none where no time was measured.
struct ModelAgainstSeed {
    std::string model_digest, seed_digest;
    double ratio = 0;
    std::optional<double> low, high;
    std::string evidence;
};

/// What a language model did in a run. Counts of calls, tokens and money are of this start of it.
struct ModelUse {
    std::string model;
    uint64_t calls = 0, cached = 0, input_tokens = 0, output_tokens = 0;
    double cost_usd = 0;
    std::vector<StepGain> steps;
    std::optional<ModelAgainstSeed> against_seed;
    std::vector<std::string> problems;  // what was said of calls that failed
    std::string off;                    // why it was asked no more before the end; "" where it was not left out
};

struct RunResult {
    std::string run, task, out_dir, preset;
    std::string device_kind, device_name, device_target;
    bool measures_time = false;
    std::vector<Evaluation> evaluations;  // the last of each candidate, best first
    std::optional<Evaluation> best;
    std::string best_file;  // "OUT/best.cu"; "" without a best one
    StoppedBy stopped_by = StoppedBy::candidates;
    std::string exhausted;          // with `converged`: what there is no more of
    double seconds = 0;             // of this start of the run
    std::optional<ModelUse> model;  // where one took part
    size_t promotions = 0;          // proofs of this run, earlier starts included: their claims share one level

    /// How many candidates came out how; they add up to the number of evaluations.
    std::map<std::string, int64_t> outcomes() const;
};

nlohmann::json to_json(const RunResult& result);

/// Orders evaluations of different candidates for people: right ones that were proven, that were judged whole, that
/// were screened, each by ranks_before, then the others in the order they came.
void sort_best_first(std::vector<Evaluation>& evaluations);

}  // namespace recuda
