#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/error.h"

namespace recuda {
namespace {

uint64_t bits_of(DType type, double value) {
    uint64_t bits = 0;
    store(type, reinterpret_cast<std::byte*>(&bits), value);
    return bits;
}

struct Case {
    DType type;
    double value;
    uint64_t bits;
};

TEST(DType, RoundsToNearestEven) {
    const Case cases[] = {
        {DType::bf16, 1.0, 0x3f80},
        {DType::bf16, 1.00390625, 0x3f80},          // halfway: to even
        {DType::bf16, 1.01171875, 0x3f82},          // halfway: to even, upward
        {DType::bf16, 1.0039062500000002, 0x3f81},  // just above halfway
        {DType::bf16, -0.0, 0x8000},
        {DType::bf16, 3.3961775292304601e38, 0x7f80},  // rounds beyond the largest number
        {DType::bf16, 3.3895313892515355e38, 0x7f7f},
        {DType::bf16, 9.18354961579912e-41, 0x0001},  // smallest subnormal
        {DType::bf16, 4.6e-41, 0x0001},
        {DType::bf16, 4.5e-41, 0x0000},
        {DType::bf16, HUGE_VAL, 0x7f80},
        {DType::f16, 65504, 0x7bff},
        {DType::f16, 65519.99, 0x7bff},
        {DType::f16, 65520, 0x7c00},
        {DType::f16, 5.9604644775390625e-08, 0x0001},
        {DType::f16, 0.1, 0x2e66},
        {DType::e4m3, 448, 0x7e},
        {DType::e4m3, 464, 0x7e},  // halfway to the number that is not there: to even
        {DType::e4m3, 465, 0x7f},  // overflow is NaN
        {DType::e4m3, -0.001953125, 0x81},
        {DType::e5m2, 57344, 0x7b},
        {DType::e5m2, 1e9, 0x7c},
        {DType::i8, -3.7, 0xfd},
        {DType::u16, 65535, 0xffff},
    };
    for (const Case& one : cases)
        EXPECT_EQ(bits_of(one.type, one.value), one.bits) << name(one.type) << " of " << one.value;
}

TEST(DType, EveryPatternOfASmallTypeSurvivesTheRoundTrip) {
    for (const DType type : {DType::bf16, DType::f16, DType::e4m3, DType::e5m2}) {
        const uint64_t patterns = uint64_t{1} << (8 * size_bytes(type));
        for (uint64_t bits = 0; bits < patterns; ++bits) {
            const double value = load(type, reinterpret_cast<const std::byte*>(&bits));
            if (std::isnan(value))
                EXPECT_TRUE(std::isnan(load(type, reinterpret_cast<const std::byte*>(&bits))));
            else
                ASSERT_EQ(bits_of(type, value), bits) << name(type);
        }
    }
}

TEST(DType, KnowsItsFormats) {
    EXPECT_EQ(unit_roundoff(DType::bf16), 0x1p-8);
    EXPECT_EQ(unit_roundoff(DType::f32), 0x1p-24);
    EXPECT_EQ(smallest_subnormal(DType::bf16), 0x1p-133);
    EXPECT_EQ(largest_finite(DType::e4m3), 448);
    EXPECT_EQ(largest_finite(DType::e5m2), 57344);
    EXPECT_EQ(largest_finite(DType::f16), 65504);
    EXPECT_EQ(dtype_named("bf16"), DType::bf16);
    EXPECT_THROW(dtype_named("bf61"), Error);
}

}  // namespace
}  // namespace recuda
