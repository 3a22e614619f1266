// The criteria against corruptions that an oracle must reject, and against honest results that it must accept.
#include "judge/acceptance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/rng.h"
#include "judge/inputs.h"

namespace recuda {
namespace {

constexpr int64_t kRows = 128, kWidth = 512;

std::vector<double> normal_values(uint64_t seed, int64_t count = kRows * kWidth) {
    Rng rng(seed);
    std::vector<double> values(static_cast<size_t>(count));
    for (double& value : values) value = rng.normal();
    return values;
}

std::vector<double> rounded(std::vector<double> values, DType type = DType::bf16) {
    for (double& value : values) {
        std::byte element[8];
        store(type, element, value);
        value = load(type, element);
    }
    return values;
}

Expected expected_of(std::vector<double> values, DType type = DType::bf16) {
    const Shape shape{static_cast<int64_t>(values.size()) / kWidth, kWidth};
    return expect("y", type, shape, std::move(values), true);
}

TEST(Acceptance, TakesCorrectRounding) {
    const Expected expected = expected_of(normal_values(1));
    const std::vector<double> seen = rounded(expected.values);
    const OwnError own = own_error(expected, seen);
    EXPECT_NEAR(own.global, 1.66e-3, 5e-5);  // judge.md B.2
    for (const OwnError* trusted : {&own, static_cast<const OwnError*>(nullptr)}) {
        const Finding finding = compare(expected, seen, trusted);
        EXPECT_TRUE(finding.right()) << finding.detail;
        EXPECT_TRUE(finding.detail.empty());
        EXPECT_GT(finding.nearness(), 0.3);
    }
}

TEST(Acceptance, TakesNoiseOfSinglePrecision) {
    for (const DType type : {DType::bf16, DType::f32, DType::f16}) {
        const Expected expected = expected_of(normal_values(2), type);
        std::vector<double> noisy = expected.values;
        Rng rng(3);
        for (double& value : noisy) value *= 1 + 4 * 0x1p-24 * rng.normal();
        const Finding finding = compare(expected, rounded(noisy, type), nullptr);
        EXPECT_TRUE(finding.right()) << name(type) << ": " << finding.detail;
    }
}

TEST(Acceptance, RejectsCorruptions) {
    const std::vector<double> right = normal_values(4), another = normal_values(5);
    const Expected expected = expected_of(right);
    const OwnError own = own_error(expected, rounded(right));
    const auto row = [](std::vector<double>& values, int64_t at) { return values.begin() + at * kWidth; };
    struct Case {
        const char* what;
        std::function<void(std::vector<double>&)> corrupt;
    };
    const Case cases[] = {
        {"zeros", [](auto& y) { y.assign(y.size(), 0); }},
        {"the mean everywhere", [](auto& y) { y.assign(y.size(), 0.01); }},
        {"another seed's output", [&](auto& y) { y = another; }},
        {"stale last row", [&](auto& y) { std::copy(another.end() - kWidth, another.end(), y.end() - kWidth); }},
        {"two rows swapped", [&](auto& y) { std::swap_ranges(row(y, 3), row(y, 4), row(y, 7)); }},
        {"last row three percent off",
         [&](auto& y) {
             for (auto i = y.end() - kWidth; i != y.end(); ++i) *i *= 1.03;
         }},
        {"one element 16 roundoffs off", [](auto& y) { y[777] += 16 * 0x1p-8 * (std::fabs(y[777]) + 1); }},
        {"overflow", [](auto& y) { y[5] = HUGE_VAL; }},
        {"NaN", [](auto& y) { y[5] = std::nan(""); }},
        {"scale applied twice",
         [](auto& y) {
             for (double& v : y) v *= 2.5;
         }},
        {"half a percent large",
         [](auto& y) {
             for (double& v : y) v *= 1.005;
         }},
        {"a mean 0.2 percent large",
         [](auto& y) {
             for (double& v : y) v *= 1.002;
         }},
        {"truncated instead of rounded",
         [](auto& y) {
             for (double& v : y) v -= std::copysign(0x1p-9 * std::fabs(v), v);
         }},
    };
    for (const Case& one : cases) {
        std::vector<double> seen = right;
        one.corrupt(seen);
        const Finding finding = compare(expected, rounded(seen), &own);
        EXPECT_FALSE(finding.right()) << one.what;
        EXPECT_GT(finding.nearness(), 1) << one.what;
        EXPECT_FALSE(finding.detail.empty()) << one.what;
    }
}

TEST(Acceptance, NamesTheRowAndTheElement) {
    const Expected expected = expected_of(normal_values(6));
    std::vector<double> seen = rounded(expected.values);
    for (size_t i = 0; i < static_cast<size_t>(kWidth); ++i) seen[3 * kWidth + i] *= 1.03;
    EXPECT_EQ(compare(expected, seen, nullptr).criterion, "row 3");
    seen = rounded(expected.values);
    seen[2 * kWidth + 9] += 0.25;
    const Finding finding = compare(expected, seen, nullptr);
    EXPECT_EQ(finding.criterion, "element y[2, 9]");
    EXPECT_NE(finding.detail.find("wanted"), std::string::npos);
}

TEST(Acceptance, SpecialValuesStandWhereTheReferenceHasThem) {
    const double nan = std::nan(""), inf = HUGE_VAL;
    struct Row {
        double wanted, seen;
        bool right;
    };
    const Row rows[] = {{nan, nan, true},   {nan, 0, false},       {nan, inf, false},   {inf, inf, true},
                        {inf, -inf, false}, {inf, 3e38, false},    {0, nan, false},     {1, inf, false},
                        {-inf, -inf, true}, {1e39, inf, true},     {1e39, 3e38, false}, {-1e39, inf, false},
                        {0, -0.0, true},    {3.3895e38, inf, true}};
    for (const Row& row : rows) {
        const Expected expected = expect("y", DType::bf16, {1, 2}, {row.wanted, 1}, false);
        const Finding finding = compare(expected, {row.seen, 1}, nullptr);
        EXPECT_EQ(finding.right(), row.right) << row.wanted << " " << row.seen;
        if (row.right) continue;
        EXPECT_EQ(std::isnan(finding.error), std::isnan(row.wanted) || std::isnan(row.seen)) << row.wanted;
        EXPECT_EQ(finding.nearness(), HUGE_VAL) << row.wanted << " " << row.seen;
    }
}

TEST(Acceptance, ZerosAndFlushedResultsAreNoErrors) {
    const Expected zeros = expect("y", DType::bf16, {2, 2}, {0, -0.0, 0, 0}, true);
    EXPECT_TRUE(compare(zeros, {0, 0, -0.0, 0}, nullptr).right());
    EXPECT_FALSE(compare(zeros, {0, 0, 1e-20, 0}, nullptr).right());
    const Expected tiny = expect("y", DType::f32, {1, 2}, {1e-40, 1e-39}, false);
    EXPECT_TRUE(compare(tiny, {0, 0}, nullptr).right());
}

TEST(Acceptance, TrustedErrorWidensTheBound) {
    const Expected expected = expected_of(normal_values(8));
    std::vector<double> seen = expected.values;
    Rng rng(9);
    for (double& value : seen) value += 2.5e-3 * rng.normal();
    EXPECT_FALSE(compare(expected, seen, nullptr).right());
    const OwnError own = own_error(expected, seen);
    EXPECT_TRUE(compare(expected, seen, &own).right());
}

TEST(Acceptance, FewRoundingsMayAllGoOneWay) {
    // One value: rounded down by almost a unit twice, where the reference lies just below the middle of two.
    for (const double off : {0.0, 0.9, 1.9, 4.6, 8.0}) {
        const Expected few = expect("y", DType::bf16, {2, kWidth}, std::vector<double>(2 * kWidth, 1.25), false);
        const std::vector<double> seen(2 * kWidth, 1.25 * (1 + off * 0x1p-8));
        EXPECT_EQ(compare(few, seen, nullptr).right(), off < 2) << off;
        std::vector<double> last(2 * kWidth, 1.25);
        std::fill(last.begin() + kWidth, last.end(), 1.25 * 1.03);
        EXPECT_FALSE(compare(few, last, nullptr).right()) << "a row three percent off";
    }
    std::vector<double> values = normal_values(10), seen = values;
    for (double& value : seen) value *= 1 + 0x1p-8;
    EXPECT_FALSE(compare(expected_of(values), seen, nullptr).right()) << "many go one way by a fault alone";
}

// A task with few tokens has too few rows in one workload.
TEST(Acceptance, BiasAddsUpOverWorkloads) {
    for (const double factor : {1.0, 1.001}) {
        BiasSums all;
        for (int i = 0; i < 12; ++i) {
            const Expected few = expected_of(normal_values(static_cast<uint64_t>(20 + i), 2 * kWidth));
            std::vector<double> seen = few.values;
            for (double& value : seen) value *= factor;
            seen = rounded(seen);
            EXPECT_NE(compare(few, seen, nullptr).criterion, "bias") << "too few rows";
            EXPECT_EQ(all.has_power(), i >= 4);
            all.add(bias_sums(few, seen, nullptr));
        }
        EXPECT_EQ(all.finding("y").right(), factor == 1);
    }
}

TEST(Acceptance, OtherRoundingsMayMoveTheMean) {
    Expected expected = expected_of(normal_values(30));
    std::vector<double> seen;
    for (const double value : expected.values) seen.push_back(value * (1 + 1.5e-4));
    EXPECT_EQ(compare(expected, seen, nullptr).criterion, "bias");
    expected.other_bias = 1e-4 * expected.mean_magnitude;
    EXPECT_TRUE(compare(expected, seen, nullptr).right());
}

TEST(Acceptance, ExactMeansBits) {
    const Expected indices = expect("index", DType::i32, {3}, {5, 0, 7}, false);
    Tensor seen(DType::i32, {3});
    for (const auto& [at, value] : {std::pair{0, 5}, {1, 0}, {2, 7}}) seen.set(at, value);
    EXPECT_TRUE(compare_exactly(indices, seen).right());
    seen.set(1, 1);
    const Finding finding = compare_exactly(indices, seen);
    EXPECT_FALSE(finding.right());
    EXPECT_NE(finding.detail.find("index[1] is 1, wanted 0"), std::string::npos) << finding.detail;
    const Expected signs = expect("y", DType::f32, {2}, {0.0, std::nan("")}, false);
    Tensor zeros(DType::f32, {2});
    zeros.set(1, -std::nan(""));
    EXPECT_TRUE(compare_exactly(signs, zeros).right());
    zeros.set(0, -0.0);
    EXPECT_FALSE(compare_exactly(signs, zeros).right());
}

TEST(Acceptance, NamesElements) {
    EXPECT_EQ(element_name("y", {4, 3, 5}, 37), "y[2, 1, 2]");
    EXPECT_EQ(element_name("y", {}, 0), "y[]");
}

}  // namespace
}  // namespace recuda
