#include "judge/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"

namespace recuda {
namespace {

TEST(Statistics, MedianAndItsInterval) {
    const Median odd = median_of({3, 1, 2});
    EXPECT_EQ(odd.value, 2);
    EXPECT_EQ(odd.low, 1);
    EXPECT_EQ(odd.high, 3);
    EXPECT_EQ(median_of({4, 1, 2, 3}).value, 2.5);
    EXPECT_EQ(median_of({}).value, 0);
    // Conover, Practical Nonparametric Statistics, table A3: with n = 10 the 2nd and 9th, with n = 30 the 10th and
    // 21st.
    for (const auto& [n, k] : {std::pair<size_t, size_t>{10, 2}, {30, 10}}) {
        std::vector<double> samples;
        for (size_t i = 1; i <= n; ++i) samples.push_back(static_cast<double>(i));
        const Median median = median_of(samples);
        EXPECT_EQ(median.low, static_cast<double>(k)) << n;
        EXPECT_EQ(median.high, static_cast<double>(n + 1 - k)) << n;
    }
}

TEST(Statistics, IntervalHoldsTheMedian) {
    Rng rng(11);
    int held = 0;
    for (int trial = 0; trial < 2000; ++trial) {
        std::vector<double> samples(30);
        for (double& sample : samples) sample = std::exp(rng.normal());  // skewed, as times are; median 1
        const Median median = median_of(samples);
        held += median.low <= 1 && 1 <= median.high;
    }
    EXPECT_GE(held, 1900);
}

TEST(Statistics, GeometricMean) { EXPECT_DOUBLE_EQ(geometric_mean({1, 4}), 2); }

TEST(Statistics, UnstableSamplesSayWhy) {
    const auto reason = [](const std::vector<double>& samples) { return instability(samples, median_of(samples)); };
    EXPECT_EQ(reason({10, 10.1, 9.9, 10, 10.1, 9.9, 10, 10.05}), "");
    EXPECT_NE(reason({10, 10, 10}).find("few"), std::string::npos);
    EXPECT_NE(reason({10, 20, 10, 20, 10, 20, 10, 20}).find("wide"), std::string::npos);
    EXPECT_NE(reason({100, 100, 100, 100, 100, 106, 106, 106, 106, 106}).find("drift"), std::string::npos);
}

}  // namespace
}  // namespace recuda
