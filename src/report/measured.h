// The times of the best kernel and of its competitors, workload by workload, and what they do not say.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "evaluation/evaluation.h"

namespace recuda {

/// A table with a row for each kernel at each workload, notes on workloads too small to show bandwidth, and how it was
/// measured; "" without measurements.
std::string measured(const Evaluation& best);

/// All comparisons as a list, or "".
std::string compared(const Evaluation& best);

/// Bandwidths of the environment's `memory_peaks` (judge/peaks.h) as lines of a list, without their samples.
std::string shown_peaks(const nlohmann::json& peaks);

}  // namespace recuda
