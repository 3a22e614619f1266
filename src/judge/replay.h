// Whether a recorded evaluation holds: its statistics are computed again from its raw samples, and it is held against
// what a second judgement found.
#pragma once

#include <string>
#include <vector>

#include "evaluation/evaluation.h"

namespace recuda {

/// The comparisons that follow from the raw samples of the evaluation's proofs.
std::vector<Comparison> recomputed(const Evaluation& evaluation);

/// Where a record is not what its samples say: verdicts, ratios and bounds of comparisons, medians of measurements, all
/// beyond rounding; and where a proof was tested on other terms than this judge's (level of its promotion, margin), or
/// holds a session twice. One line each; empty where all agree.
std::vector<std::string> miscalculated(const Evaluation& evaluation);

/// Where a second judgement contradicts the first. Outcomes must be equal, unless one device could not run it or only
/// one of them has a clock and the outcome depends on it. Times are held against each other on devices of one name
/// alone: intervals of a proof must overlap and its verdicts not oppose each other, medians agree within 10 %.
std::vector<std::string> contradictions(const Evaluation& stored, const Evaluation& again);

}  // namespace recuda
