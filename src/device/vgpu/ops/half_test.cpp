#include <cmath>
#include <random>

#include "device/vgpu/ops/ops_test_support.h"

namespace recuda::vgpu {
namespace {

TEST(Half, Arithmetic) {
    check<uint16_t, uint16_t, uint16_t, uint16_t>({
        {"add.f16 d, a, b;", 0x3c00, 0x3c00, 0, 0x4000},
        {"add.f16 d, a, b;", 0x7bff, 0x4c00, 0, 0x7c00},  // 65504 + 16 is a tie that overflows
        {"add.f16 d, a, b;", 1, 1, 0, 2},
        {"add.ftz.f16 d, a, b;", 1, 0x8001, 0, 0},
        {"add.sat.f16 d, a, b;", 0x3c00, 0x3c00, 0, 0x3c00},
        {"sub.rn.f16 d, a, b;", 0x7c00, 0x7c00, 0, 0x7fff},
        {"mul.f16 d, a, b;", 0x3555, 0x3555, 0, 0x2f1c},
        {"mul.f16 d, a, b;", 0x0400, 0x3800, 0, 0x0200},
        {"mul.ftz.f16 d, a, b;", 0x0400, 0xb800, 0, 0x8000},
        {"fma.rn.f16 d, a, b, c;", 0x3c01, 0x3c01, 0xbc02, 0x0010},  // 2^-20: one rounding only
        {"fma.rn.relu.f16 d, a, b, c;", 0x3c00, 0xbc00, 0, 0},
        {"fma.rn.relu.f16 d, a, b, c;", 0x7e00, 0xbc00, 0, 0x7fff},
        {"fma.rn.sat.f16 d, a, b, c;", 0x4000, 0x4000, 0, 0x3c00},
        {"neg.f16 d, a;", 0x3c00, 0, 0, 0xbc00},
        {"abs.f16 d, a;", 0xbc00, 0, 0, 0x3c00},
        {"min.f16 d, a, b;", 0x8000, 0, 0, 0x8000},
        {"max.NaN.f16 d, a, b;", 0x7e00, 0, 0, 0x7fff},
        {"max.f16 d, a, b;", 0x7e00, 0x3c00, 0, 0x3c00},
        {"min.xorsign.abs.f16 d, a, b;", 0xc000, 0x3c00, 0, 0xbc00},
        {"max.f16 d, a, b, c;", 0x3c00, 0x4000, 0x4200, 0x4200},
        {"ex2.approx.f16 d, a;", 0x4200, 0, 0, 0x4800},
        {"tanh.approx.f16 d, a;", 0x7c00, 0, 0, 0x3c00},
        {"add.bf16 d, a, b;", 0x3f80, 0x3f80, 0, 0x4000},
        {"mul.bf16 d, a, b;", 0x0080, 0x3f00, 0, 0x0040},
        {"fma.rn.bf16 d, a, b, c;", 0x3f81, 0x3f81, 0xbf82, 0x3880},  // 2^-14
        {"fma.rn.relu.bf16 d, a, b, c;", 0xbf80, 0x3f80, 0, 0},
        {"max.bf16 d, a, b;", 0x3f80, 0x4000, 0, 0x4000},
        {"ex2.approx.ftz.bf16 d, a;", 0x4040, 0, 0, 0x4100},
        {"tanh.approx.bf16 d, a;", 0xff80, 0, 0, 0xbf80},
    });
}

TEST(Half, PairsAreTwoNumbers) {
    check<uint32_t, uint32_t, uint32_t, uint32_t>({
        {"add.f16x2 d, a, b;", 0x3c004000, 0x3c003c00, 0, 0x40004200},
        {"sub.bf16x2 d, a, b;", 0x40003f80, 0x3f803f80, 0, 0x3f800000},
        {"fma.rn.bf16x2 d, a, b, c;", 0x40003f80, 0x40403f80, 0x3f803f80, 0x40e04000},
        {"neg.bf16x2 d, a;", 0x3f800000, 0, 0, 0xbf808000},
        {"min.f16x2 d, a, b;", 0x3c004000, 0x40003c00, 0, 0x3c003c00},
        {"ex2.approx.f16x2 d, a;", 0x3c000000, 0, 0, 0x40003c00},
    });
    OpsMachine m = machine_of(32, 32, 32, 32);
    m.set<uint32_t>("a", {0x3c003c00});
    m.set<uint32_t>("d", {7});
    m.run("add.f16x2 d, a, a;", 0x5);
    EXPECT_EQ(m.get<uint32_t>("d", 0), 0x40004000u);
    EXPECT_EQ(m.get<uint32_t>("d", 1), 7u);
    EXPECT_EQ(m.get<uint32_t>("d", 2), 0x40004000u);
}

/// The format's nearest number by trying the neighbours of an exact value: ties to the even code.
uint16_t nearest(long double exact, float (*widen)(uint16_t), uint16_t infinity) {
    if (std::isnan(exact)) return 0x7fff;
    const uint16_t sign = std::signbit(exact) ? 0x8000 : 0;
    const long double magnitude = std::fabs(exact);
    uint16_t low = 0, high = infinity;
    while (high - low > 1) {
        const auto middle = static_cast<uint16_t>((low + high) / 2);
        (static_cast<long double>(widen(middle)) <= magnitude ? low : high) = middle;
    }
    if (magnitude == std::numeric_limits<long double>::infinity()) return sign | infinity;
    // Beyond the largest number the next would have been as far again.
    const long double below = widen(low), step = below - widen(static_cast<uint16_t>(low - 1));
    const long double above = high == infinity ? below + step : static_cast<long double>(widen(high));
    const long double down = magnitude - below, up = above - magnitude;
    return sign | (down < up || (down == up && (low & 1) == 0) ? low : high);
}

// Double rounding would show here: results are compared with the one nearest to the exact value.
TEST(Half, OneRounding) {
    std::mt19937 random(11);
    OpsMachine m = machine_of(16, 16, 16, 16);
    struct Format {
        std::string name;
        float (*widen)(uint16_t);
        uint16_t infinity;
    };
    for (const Format& format : {Format{".f16", from_half, 0x7c00}, Format{".bf16", from_bfloat, 0x7f80}}) {
        for (int round = 0; round < 400; ++round) {
            std::vector<uint16_t> a(kLanes), b(kLanes), c(kLanes);
            for (uint32_t i = 0; i < kLanes; ++i) {
                a[i] = static_cast<uint16_t>(random());
                b[i] = static_cast<uint16_t>(random());
                c[i] = static_cast<uint16_t>(random());
            }
            m.set("a", a);
            m.set("b", b);
            m.set("c", c);
            const auto compare = [&](const std::string& statement, auto exact) {
                m.run(statement);
                for (uint32_t i = 0; i < kLanes; ++i) {
                    const long double x = format.widen(a[i]), y = format.widen(b[i]), z = format.widen(c[i]),
                                      wanted = exact(x, y, z);
                    // A sum of numbers too far apart for the long double's 64 digits proves nothing.
                    if (std::fabs(x * y) > 0x1p40l * std::fabs(z) || std::fabs(z) > 0x1p40l * std::fabs(x * y))
                        continue;
                    ASSERT_EQ(m.get<uint16_t>("d", i), nearest(wanted, format.widen, format.infinity))
                        << statement << std::hex << ' ' << a[i] << ' ' << b[i] << ' ' << c[i];
                }
            };
            compare("mul" + format.name + " d, a, b;", [](long double x, long double y, long double) { return x * y; });
            compare("fma.rn" + format.name + " d, a, b, c;",
                    [](long double x, long double y, long double z) { return x * y + z; });
        }
    }
}

TEST(Half, OutOfBoundsNan) {
    check<uint16_t, uint16_t, uint16_t, uint16_t>({{"fma.rn.oob.f16 d, a, b, c;", 0x7ff7, 0x3c00, 0x3c00, 0},
                                                   {"fma.rn.oob.f16 d, a, b, c;", 0x7e00, 0x3c00, 0x3c00, 0x7fff},
                                                   {"fma.rn.oob.relu.bf16 d, a, b, c;", 0x3f80, 0x7ff7, 0x3f80, 0},
                                                   {"fma.rn.oob.bf16 d, a, b, c;", 0x3f80, 0xfff7, 0x3f80, 0},
                                                   {"fma.rn.oob.bf16 d, a, b, c;", 0x3f80, 0x3f80, 0x7ff7, 0x7fff},
                                                   {"fma.rn.oob.bf16 d, a, b, c;", 0x3f80, 0x3f80, 0x3f80, 0x4000}});
    check<uint32_t, uint32_t, uint32_t, uint32_t>(
        {{"fma.rn.oob.f16x2 d, a, b, c;", 0x7ff73c00, 0x3c003c00, 0x3c003c00, 0x00004000},
         {"fma.rn.oob.sat.f16x2 d, a, b, c;", 0x3c007ff7, 0x3c003c00, 0x3c003c00, 0x3c000000}});
}

TEST(Half, FlushesWhatRoundsUpToTheSmallestNormal) {
    check<uint16_t, uint16_t, uint16_t, uint16_t>({{"mul.ftz.f16 d, a, b;", 0x0400, 0x3bff, 0, 0},
                                                   {"mul.f16 d, a, b;", 0x0400, 0x3bff, 0, 0x0400},
                                                   {"fma.rn.ftz.f16 d, a, b, c;", 0x0401, 0x3bfe, 0, 0x0400}});
}

TEST(Half, WhatIsUnknownIsUnsupported) {
    OpsMachine m = machine_of(16, 16, 16, 16);
    for (const char* statement : {"add.rz.f16 d, a, b;", "add.sat.bf16 d, a, b;", "fma.rn.sat.relu.f16 d, a, b, c;",
                                  "add.f16x2 d, a, b;", "ex2.f16 d, a;"}) {
        EXPECT_THROW(m.run(statement), Unsupported) << statement;
    }
}

}  // namespace
}  // namespace recuda::vgpu
