// Statistics of timing samples: medians with distribution-free intervals. No assumption on how times are spread.
#pragma once

#include <string>
#include <vector>

namespace recuda {

/// A median and an interval that holds the true one with at least 95 %, by order statistics (the sign test inverted).
/// With fewer than 6 samples no such interval exists: low and high are then the extremes.
struct Median {
    double value = 0, low = 0, high = 0;
};
Median median_of(std::vector<double> samples);

double geometric_mean(const std::vector<double>& values);

/// Why samples are not to be relied on, or "": an interval wider than a tenth of the median, or a drift between their
/// first and second half of more than 5 %.
std::string instability(const std::vector<double>& samples, const Median& median);

}  // namespace recuda
