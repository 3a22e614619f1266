// Sums of products against values worked out by hand from the model (tensor_sum.h).
#include "device/vgpu/ops/tensor_sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "device/vgpu/ops/formats.h"

namespace recuda::vgpu {
namespace {

struct Term {
    float a, b;
};

uint32_t code_of(Element element, float value) {
    switch (element) {
        case Element::f16:
            return to_half(value);
        case Element::bf16:
            return to_bfloat(value);
        case Element::e4m3:
            return to_small<kE4m3>(value);
        case Element::e5m2:
            return std::isinf(value) ? (value < 0 ? 0xfc : 0x7c) : to_small<kE5m2>(value);
        default:
            return bits_of(value);
    }
}

/// D of one row and column (the others are zero), as a float; without the term `left_out`.
float sum(Product product, std::initializer_list<Term> terms, float c, bool warpgroup = false,
          uint32_t left_out = kMostK) {
    product.model = model_of(product, warpgroup);
    const uint32_t bytes = bits_of(product.a) / 8;
    std::byte a[kMostK * 4] = {}, b[kTileColumns][kMostK * 4] = {};
    uint32_t k = 0;
    for (const Term& term : terms) {
        const uint32_t codes[] = {code_of(product.a, term.a), code_of(product.b, term.b)};
        std::memcpy(a + k * bytes, &codes[0], bytes);
        std::memcpy(b[3] + k++ * bytes, &codes[1], bytes);
    }
    Row row;
    Tile tile;
    read_row(product, a, row);
    if (left_out < product.k) leave_out(product, row, left_out);
    read_tile(product, b[0], sizeof b[0], tile);
    uint32_t sums[kTileColumns] = {}, d[kTileColumns];
    sums[3] = code_of(product.c, c);
    add_products(product, row, tile, sums, d);
    return product.d == Element::f16 ? from_half(static_cast<uint16_t>(d[3])) : as_float(d[3]);
}

constexpr Product kHalves{.a = Element::f16, .b = Element::f16, .k = 16};
constexpr Product kToHalf{.a = Element::f16, .b = Element::f16, .c = Element::f16, .d = Element::f16, .k = 16};
constexpr Product kBfloats{.a = Element::bf16, .b = Element::bf16, .k = 16};
constexpr Product kTf32{.a = Element::tf32, .b = Element::tf32, .k = 8};
constexpr Product kEights{.a = Element::e4m3, .b = Element::e4m3, .k = 32};
constexpr Product kEightsToHalf{.a = Element::e4m3, .b = Element::e4m3, .c = Element::f16, .d = Element::f16, .k = 16};
constexpr Product kFives{.a = Element::e5m2, .b = Element::e5m2, .k = 32};
constexpr Product kFivesToHalf{.a = Element::e5m2, .b = Element::e5m2, .c = Element::f16, .d = Element::f16, .k = 32};

TEST(TensorSum, RoundsTowardsZero) {
    EXPECT_EQ(sum(kHalves, {{0x1p-12f, 0x1.8p-12f}}, 1), 1.0f);
    EXPECT_EQ(sum(kHalves, {{0x1p-12f, -0x1p-13f}}, 1), 1 - 0x1p-24f);
    EXPECT_EQ(sum(kHalves, {{0x1p-12f, 0x1p-11f}}, 1), 1 + 0x1p-23f);
}

TEST(TensorSum, KeepsTwoBitsBelowAnF32) {
    // Four quarters of the last digit are one; eighths are cut off, each by itself.
    constexpr Term kQuarter{0x1p-12f, 0x1p-13f}, kEighth{0x1p-13f, 0x1p-13f};
    EXPECT_EQ(sum(kHalves, {kQuarter, kQuarter, kQuarter, kQuarter}, 1), 1 + 0x1p-23f);
    EXPECT_EQ(sum(kTf32, {kQuarter, kQuarter, kQuarter, kQuarter}, 1), 1 + 0x1p-23f);
    EXPECT_EQ(sum(kHalves, {kQuarter, kQuarter, kQuarter, kEighth, kEighth}, 1), 1.0f);
}

TEST(TensorSum, AlignsToTheLargestExponentNotToTheSum) {
    EXPECT_EQ(sum(kBfloats, {{0x1p20f, 0x1p20f}, {-0x1p20f, 0x1p20f}, {1, 0x1p14f}}, 0), 0.0f);
    EXPECT_EQ(sum(kBfloats, {{0x1p20f, 0x1p20f}, {-0x1p20f, 0x1p20f}, {1, 0x1p15f}}, 0), 0x1p15f);
}

TEST(TensorSum, RoundsHalvesToEven) {
    EXPECT_EQ(sum(kToHalf, {{1, 0x1p-11f}}, 1), 1.0f);
    EXPECT_EQ(sum(kToHalf, {{1, 0x1.8p-10f}}, 1), 1 + 0x1p-9f);
    EXPECT_EQ(sum(kToHalf, {{60000, 2}}, 0), as_float(0x7f800000));
}

TEST(TensorSum, WarpgroupsKeepThirteenBitsOfEights) {
    EXPECT_EQ(sum(kEights, {{0x1p-7f, 0x1p-7f}}, 1, true), 1.0f);
    EXPECT_EQ(sum(kEights, {{0x1p-7f, 0x1p-6f}}, 1, true), 1 + 0x1p-13f);
    EXPECT_EQ(sum(kEights, {{0x1p-7f, 0x1p-7f}}, 1, false), 1 + 0x1p-14f);
}

TEST(TensorSum, EightsOfAWarpAddCLastAndToNearest) {
    EXPECT_EQ(sum(kEights, {{0x1p-6f, 0x1p-6f}}, 0x1p12f), 0x1p12f);
    EXPECT_EQ(sum(kEights, {{0x1p-6f, 0x1.8p-6f}}, 0x1p12f), 0x1p12f + 0x1p-11f);
    EXPECT_EQ(sum(kEightsToHalf, {{0x1p-6f, 0x1p-5f}, {0x1p-6f, 0x1p-5f}}, 1), 1 + 0x1p-10f);
}

TEST(TensorSum, EightsOfAWarpGoByPairsToTwoSteps) {
    // What is far below two numbers that cancel each other is lost beside them and kept behind them.
    constexpr Term kLarge{0x1p14f, 0x1p14f}, kBack{-0x1p14f, 0x1p14f}, kSmall{1, 1}, kNone{0, 0};
    EXPECT_EQ(sum(kFives, {kLarge, kBack, kSmall, kNone, kNone, kNone}, 0), 1.0f);
    EXPECT_EQ(sum(kFives, {kLarge, kBack, kNone, kNone, kSmall, kNone}, 0), 0.0f);
    EXPECT_EQ(sum(kFives, {kSmall, kNone, kLarge, kBack, kNone, kNone}, 0), 0.0f);
    EXPECT_EQ(sum(kFives, {kNone, kNone, kLarge, kBack, kSmall, kNone}, 0), 0.0f);
    EXPECT_EQ(sum(kFives, {kNone, kNone, kLarge, kBack, kNone, kNone}, 1), 1.0f);
}

TEST(TensorSum, EightsOfAWarpRoundTwiceToHalves) {
    EXPECT_EQ(sum(kEightsToHalf, {{1, 1}, {0x1p-6f, 0x1p-5f}, {0x1p-6f, 0x1p-5f}}, 0), 1.0f);
    EXPECT_EQ(sum(kEightsToHalf, {{1, 1}, {0x1p-6f, 0x1p-5f}, {0, 0}, {0, 0}, {0x1p-6f, 0x1p-5f}}, 0), 1 + 0x1p-10f);
}

TEST(TensorSum, BesideAnInfinityTheRestCountsForNothing) {
    const float infinity = as_float(0x7f800000);
    constexpr Term kTop{0x1p14f, 0x1p14f};
    EXPECT_EQ(sum(kFivesToHalf, {{-infinity, 1}, kTop, {1, 1}}, 1), -infinity);
    EXPECT_TRUE(std::isnan(sum(kFivesToHalf, {kTop, {0, 0}, {-infinity, 1}}, 1)));
}

TEST(TensorSum, PassesSpecialsOn) {
    const float infinity = as_float(0x7f800000);
    EXPECT_EQ(sum(kHalves, {{infinity, 2}}, -5), infinity);
    EXPECT_EQ(bits_of(sum(kHalves, {{infinity, 0}}, 1)), kNan);
    EXPECT_EQ(bits_of(sum(kHalves, {{infinity, 1}, {1, -infinity}}, 1)), kNan);
    EXPECT_EQ(bits_of(sum(kBfloats, {{1, 1}}, as_float(0xffc00001))), kNan);
    EXPECT_EQ(sum(kBfloats, {{0x1p100f, 0x1p100f}}, 0), infinity);
    EXPECT_EQ(sum(kBfloats, {{0x1p100f, 0x1p100f}}, -infinity), -infinity);
}

TEST(TensorSum, LeavesOutWhateverBHasThere) {
    for (const float special : {as_float(0x7f800000), -as_float(0x7f800000), as_float(kNan)}) {
        EXPECT_EQ(sum(kHalves, {{2, 3}, {0, special}}, 1, false, 1), 7.0f);
        EXPECT_EQ(sum(kToHalf, {{0, special}, {2, 3}}, 1, false, 0), 7.0f);
        EXPECT_EQ(sum(kEights, {{2, 3}, {0, as_float(kNan)}}, 1, true, 1), 7.0f);
        EXPECT_EQ(bits_of(sum(kHalves, {{2, special}, {0, as_float(kNan)}}, 1, false, 1)), bits_of(special));
    }
}

TEST(TensorSum, KeepsDenormals) {
    EXPECT_EQ(sum(kHalves, {{0x1p-24f, 0x1p-24f}}, 0), 0x1p-48f);
    EXPECT_EQ(sum(kBfloats, {{0x1p-100f, 0x1p-40f}}, 0), 0x1p-140f);
    EXPECT_EQ(sum(kBfloats, {{0x1p-130f, 1}}, 0x1p-149f), 0x1p-130f + 0x1p-149f);
}

TEST(TensorSum, WrapsOrSaturatesIntegers) {
    for (const bool saturates : {false, true}) {
        Product product{.a = Element::s8, .b = Element::s8, .c = Element::s32, .d = Element::s32, .k = 16};
        product.saturates = saturates;
        std::byte ones[kTileColumns][16];
        std::memset(ones, 1, sizeof ones);
        Row row;
        Tile tile;
        read_row(product, ones[0], row);
        read_tile(product, ones[0], 16, tile);
        const uint32_t c[kTileColumns] = {0x7ffffff8, 0x80000000, 5};
        uint32_t d[kTileColumns];
        add_products(product, row, tile, c, d);
        EXPECT_EQ(d[0], saturates ? 0x7fffffffu : 0x80000008u);
        EXPECT_EQ(d[1], 0x80000010u);
        EXPECT_EQ(d[2], 21u);
    }
}

}  // namespace
}  // namespace recuda::vgpu
