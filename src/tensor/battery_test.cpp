#include "tensor/battery.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tensor/fill.h"

namespace recuda {
namespace {

TEST(Battery, SpecialPutsNanAndInfinitiesIntoRowsOfTheirOwn) {
    Tensor tensor = filled(parse_fill("normal(0, 1)"), DType::bf16, {8, 16}, 3, "x");
    apply(Battery::special, tensor, 3, "x");
    const auto count = [&](int row, auto is) {
        int found = 0;
        for (int i = 0; i < 16; ++i) found += is(tensor.at(row * 16 + i));
        return found;
    };
    EXPECT_EQ(count(0, [](double v) { return std::isnan(v); }), 8);
    EXPECT_EQ(count(1, [](double v) { return v == HUGE_VAL; }), 8);
    EXPECT_EQ(count(2, [](double v) { return v == -HUGE_VAL; }), 8);
    EXPECT_EQ(count(3, [](double v) { return !std::isfinite(v); }), 0);
    EXPECT_EQ(count(4, [](double v) { return std::isnan(v); }), 1) << "every other time one alone";
    for (const int begin : {0, 8})
        EXPECT_TRUE(std::isinf(tensor.at(32 + begin)) || std::isinf(tensor.at(32 + begin + 1))) << "in every part";
}

TEST(Battery, AWeightHasEverySpecialValue) {
    Tensor weight = filled(parse_fill("normal(0, 1)"), DType::bf16, {64}, 3, "w");
    apply(Battery::special, weight, 3, "w", {.weight = true});
    int nans = 0, plus = 0, minus = 0;
    for (int i = 0; i < 64; ++i) {
        nans += std::isnan(weight.at(i));
        plus += weight.at(i) == HUGE_VAL;
        minus += weight.at(i) == -HUGE_VAL;
    }
    EXPECT_EQ(nans, 1);
    EXPECT_EQ(plus, 1);
    EXPECT_EQ(minus, 1);
}

/// What a kind makes of rows of N(0, 1).
Tensor made(Battery battery, Shape shape, const InputRules& rules, int64_t part = 0) {
    Tensor tensor = filled(parse_fill("normal(0, 1)"), DType::f32, shape, 3, "x");
    apply(battery, tensor, 3, "x", rules, part);
    return tensor;
}

TEST(Battery, InfiniteMasksAndKeepsWhatMustBeChosen) {
    const InputRules scores{.summable = false, .nan = false, .infinity = true}, masked{.summable = false, .nan = false};
    const auto infinities = [](const Tensor& tensor, int64_t row, double which) {
        int64_t count = 0;
        for (int64_t i = 0; i < 32; ++i) count += tensor.at(row * 32 + i) == which;
        return count;
    };
    const Tensor three = made(Battery::infinite, {3, 32}, scores);  // the second kind of row and those behind it
    EXPECT_EQ(infinities(three, 0, HUGE_VAL), 1);
    EXPECT_EQ(std::count(std::begin(three.as<float>()), std::begin(three.as<float>()) + 16, HUGE_VALF), 0);
    EXPECT_EQ(infinities(three, 1, -HUGE_VAL), 31);
    EXPECT_EQ(infinities(three, 2, -HUGE_VAL), 32);
    const Tensor rows = made(Battery::infinite, {8, 32}, masked);
    for (int64_t row = 0; row < 8; ++row) {
        EXPECT_EQ(infinities(rows, row, -HUGE_VAL), 16);
        EXPECT_EQ(infinities(rows, row, HUGE_VAL), 0);
    }
}

TEST(Battery, CrowdHasEveryKindOfRowInItsParts) {
    for (const int64_t rows : {9, 32, 128}) {
        int64_t zeros = 0, nans = 0, large = 0;
        const int64_t all = parts(Battery::crowd, rows, 64, {});
        EXPECT_EQ(all, rows == 9 ? 3 : 1);
        for (int64_t part = 0; part < all; ++part) {
            const Tensor tensor = made(Battery::crowd, {rows, 64}, {}, part);
            for (int64_t row = 0; row < rows; ++row) {
                double largest = 0;
                bool nan = false;
                for (int64_t i = 0; i < 64; ++i) {
                    largest = std::max(largest, std::fabs(tensor.at(row * 64 + i)));
                    nan = nan || std::isnan(tensor.at(row * 64 + i));
                }
                zeros += largest == 0 && !nan;
                nans += nan;
                large += std::isfinite(largest) && largest > 1e7;
            }
        }
        EXPECT_GE(zeros, 1);
        EXPECT_GE(nans, 1);
        EXPECT_GE(large, 1);
    }
}

TEST(Battery, ColumnsWalkOverAllOfThem) {
    for (const int64_t width : {7, 300, 2688}) {
        std::set<int64_t> summed, compared;
        for (int64_t part = 0; part < parts(Battery::columns, 32, width, {}); ++part) {
            const Tensor tensor = made(Battery::columns, {32, width}, {}, part);
            for (int64_t row = 0; row < 32; ++row) {
                int64_t teeth = 0;
                for (int64_t i = 0; i < width; ++i)
                    if (tensor.at(row * width + i) != 0) summed.insert(i), ++teeth;
                EXPECT_LE(teeth, 16);
            }
        }
        EXPECT_EQ(static_cast<int64_t>(summed.size()), width);
        const InputRules rules{.summable = false};
        for (int64_t part = 0; part < parts(Battery::columns, 32, width, rules); ++part) {
            const Tensor tensor = made(Battery::columns, {32, width}, rules, part);
            for (int64_t row = 0; row < 32; ++row)
                for (int64_t i = 0; i < width; ++i)
                    if (tensor.at(row * width + i) >= 2) compared.insert(i);
        }
        EXPECT_EQ(static_cast<int64_t>(compared.size()), width);
    }
}

TEST(Battery, ManyColumnsAreWalkedOverInSteps) {
    const int64_t width = 16384;
    std::set<int64_t> winners;
    const InputRules rules{.summable = false};
    for (int64_t part = 0; part < parts(Battery::columns, 32, width, rules); ++part) {
        const Tensor tensor = made(Battery::columns, {32, width}, rules, part);
        for (int64_t row = 0; row < 32; ++row)
            for (int64_t i = 0; i < width; ++i)
                if (tensor.at(row * width + i) >= 2) winners.insert(i);
    }
    for (int64_t tile = 512; tile < width; tile += 512) {
        EXPECT_TRUE(winners.contains(tile)) << tile;
        EXPECT_TRUE(winners.contains(tile - 1)) << tile;
    }
    int64_t before = *winners.rbegin() - width;
    for (const int64_t winner : winners) {
        EXPECT_LE(winner - before, 149);
        before = winner;
    }
    std::set<int64_t> residues;
    for (const int64_t winner : winners) residues.insert(winner % 100);
    EXPECT_EQ(residues.size(), 100u) << "every hundredth column";
}

TEST(Battery, EdgesPutsTheExtremesAtTheEnds) {
    for (const int64_t width : {2, 3, 512}) {
        Tensor tensor = filled(parse_fill("normal(0, 1)"), DType::bf16, {2, width}, 3, "x");
        apply(Battery::edges, tensor, 3, "x");
        for (const int64_t row : {0, 1}) {
            const double first = tensor.at(row * width), last = tensor.at(row * width + width - 1);
            const double larger = row == 0 ? last : first, second = row == 0 ? first : last;
            EXPECT_NEAR(larger, 2 * second, 0.01 * larger);
            double squares = 0;
            for (int64_t i = 1; i < width - 1; ++i) {
                EXPECT_LT(tensor.at(row * width + i), second);
                squares += tensor.at(row * width + i) * tensor.at(row * width + i);
            }
            EXPECT_GE(second * second, 0.98 * squares);
        }
    }
}

TEST(Battery, NegativeHasNoMaximumAboveItsBounds) {
    Tensor tensor = filled(parse_fill("normal(0, 1)"), DType::f32, {2, 64}, 3, "x");
    apply(Battery::negative, tensor, 3, "x");
    for (int64_t i = 0; i < 128; ++i) EXPECT_LE(tensor.at(i), i < 64 ? -0.5 : -65536);
    EXPECT_NE(tensor.at(0), tensor.at(1));
}

TEST(Battery, LargeKeepsARowsSumOfSquaresFinite) {
    Tensor tensor(DType::bf16, {1, 131072});
    apply(Battery::large, tensor, 3, "x");
    float sum = 0;
    for (int64_t i = 0; i < tensor.size(); ++i) sum += static_cast<float>(tensor.at(i) * tensor.at(i));
    EXPECT_TRUE(std::isfinite(sum));
}

TEST(Battery, OutliersStandWhereTilesEndAndBegin) {
    std::set<int64_t> places;
    for (const int64_t rows : {1, 3, 5, 8}) {
        Tensor tensor = filled(parse_fill("normal(0, 1)"), DType::f32, {rows, 2688}, 3, "x");
        apply(Battery::outlier, tensor, 3, "x");
        for (int64_t i = 0; i < tensor.size(); ++i)
            if (std::fabs(tensor.at(i)) == 1e4) places.insert(i % 2688);
    }
    EXPECT_EQ(places,
              (std::set<int64_t>{15, 16, 31, 32, 63, 64, 127, 128, 255, 256, 511, 512, 1023, 1024, 2047, 2048}));
}

TEST(Battery, RowsOfMixedAreOfManyKinds) {
    const int64_t width = 300;
    const Tensor fill = filled(parse_fill("normal(0, 1)"), DType::f32, {16, width}, 3, "x");
    Tensor mixed = fill;
    apply(Battery::mixed, mixed, 3, "x", {.summable = false});
    const auto row = [&](RowKind kind) {
        std::vector<double> values;
        for (int64_t i = 0; i < width; ++i) values.push_back(mixed.at(static_cast<int64_t>(kind) * width + i));
        return values;
    };
    const auto count = [&](RowKind kind, auto is) {
        const std::vector<double> values = row(kind);
        return std::count_if(values.begin(), values.end(), is);
    };
    EXPECT_EQ(count(RowKind::uniform, [](double v) { return v >= 0 && v < 1; }), width);
    EXPECT_EQ(count(RowKind::sparse, [](double v) { return v != 0; }), 3);
    EXPECT_TRUE(std::ranges::is_sorted(row(RowKind::rising)));
    EXPECT_TRUE(std::ranges::is_sorted(row(RowKind::falling), std::greater()));
    EXPECT_EQ(count(RowKind::lonely, [](double v) { return v != 0; }), 1);
    EXPECT_EQ(row(RowKind::pairs)[1], static_cast<float>(-row(RowKind::pairs)[0] * (1 - 0x1p-6)));
    EXPECT_EQ(count(RowKind::subnormal, [](double v) { return v != 0 && std::fabs(v) <= 0x1p-128; }), width / 2);
    EXPECT_EQ(count(RowKind::near_ties, [](double v) { return v >= 1 && v < 1 + 0x1p-21; }), width);
    EXPECT_GT(count(RowKind::near_ties, [](double v) { return v != 1; }), width / 2);
    EXPECT_EQ(row(RowKind::heavy)[0], static_cast<float>(std::pow(fill.at(6 * width), 3)));
    EXPECT_EQ(row(RowKind::swaying)[0], -row(RowKind::swaying)[1]);
    EXPECT_EQ(row(RowKind::halves)[width - 1], fill.at(8 * width - 1) * 0x1p-8);
    EXPECT_EQ(count(RowKind::lowest, [](double v) { return v < -1e38 && std::isfinite(v); }), width);
    Tensor few(DType::f32, {1, width});
    set_each(few, 0, width, [](int64_t) { return 1.0; });
    apply(Battery::mixed, few, 3, "x");
    for (int64_t i = 0; i < width; ++i) EXPECT_EQ(few.at(i), i == 255 ? 1 : 0) << "a single row is lonely";
}

// Whatever may be squared and added stays finite, of every type and kind.
TEST(Battery, SummableMagnitudesHaveFiniteSums) {
    for (const DType dtype : {DType::bf16, DType::f32})
        for (const Battery battery : all_batteries()) {
            if (battery == Battery::special || battery == Battery::infinite) continue;
            Tensor tensor = filled(parse_fill("normal(0, 1)"), dtype, {24, 2000}, 5, "x");
            apply(battery, tensor, 5, "x");
            float sum = 0;
            for (int64_t i = 0; i < tensor.size(); ++i) sum += static_cast<float>(tensor.at(i) * tensor.at(i));
            EXPECT_TRUE(std::isfinite(sum)) << name(battery);
        }
}

}  // namespace
}  // namespace recuda
