// Statistics of timing samples: medians with distribution-free intervals. No assumption on how times are spread.
#pragma once

#include <vector>

#include "evaluation/evaluation.h"

namespace recuda {

/// A median and an interval that holds the true one with at least 95 %, by order statistics (the sign test inverted).
/// With fewer than 6 samples no such interval exists: low and high are then the extremes.
struct Median {
    double value = 0, low = 0, high = 0;
};
Median median_of(std::vector<double> samples);

/// The ratio baseline / candidate of paired samples: median of the paired ratios with its interval.
Median ratio_of(const std::vector<double>& baseline, const std::vector<double>& candidate);

/// FASTER where the whole interval lies above 1 + margin, SLOWER where it lies below 1 - margin, EQUIVALENT where it
/// lies between, else INCONCLUSIVE.
Comparing verdict_of(const Median& ratio, double margin);

double geometric_mean(const std::vector<double>& values);

/// Why samples are not to be relied on, or "": an interval wider than a tenth of the median, or a drift between their
/// first and second half of more than 5 %.
std::string instability(const std::vector<double>& samples, const Median& median);

}  // namespace recuda
