#include "judge/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace recuda {
namespace {

/// How many of n samples may lie outside on each side: the largest k with P(Binomial(n, 1/2) < k) <= 2.5 %.
size_t trimmed_count(size_t n) {
    double probability = std::pow(0.5, static_cast<double>(n)), below = 0;
    size_t k = 0;
    while (k < n / 2 && below + probability <= 0.025) {
        below += probability;
        probability *= static_cast<double>(n - k) / static_cast<double>(k + 1);
        ++k;
    }
    return k;
}

double middle(const std::vector<double>& sorted) {
    const size_t half = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

}  // namespace

Median median_of(std::vector<double> samples) {
    if (samples.empty()) return {};
    std::sort(samples.begin(), samples.end());
    // With k allowed outside, the k-th smallest and the k-th largest sample bound the median; k = 0 leaves the
    // extremes.
    const size_t k = std::max<size_t>(1, trimmed_count(samples.size()));
    return {middle(samples), samples[k - 1], samples[samples.size() - k]};
}

double geometric_mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += std::log(value);
    return values.empty() ? 0 : std::exp(sum / static_cast<double>(values.size()));
}

std::string instability(const std::vector<double>& samples, const Median& median) {
    if (samples.size() < 6) return fmt::format("{} samples are too few", samples.size());
    if (median.high - median.low > 0.1 * median.value)
        return fmt::format("the median's interval is {:.1f} % wide", 100 * (median.high - median.low) / median.value);
    const auto half = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
    const double first = median_of({samples.begin(), half}).value, second = median_of({half, samples.end()}).value;
    if (std::fabs(first - second) > 0.05 * median.value)
        return fmt::format("times drift by {:.1f} % between the halves", 100 * (second - first) / median.value);
    return "";
}

}  // namespace recuda
