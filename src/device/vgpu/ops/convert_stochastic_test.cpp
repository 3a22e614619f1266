#include "device/vgpu/ops/ops_test_support.h"

namespace recuda::vgpu {
namespace {

TEST(Stochastic, RandomBitsDecide) {
    check<uint32_t, uint32_t, uint32_t, uint32_t>({
        // 1 + 2^-11, half a step of f16: up where the 13 random bits are at least half of their range.
        {"cvt.rs.f16x2.f32 d, a, b, c;", 0x3f801000, 0x3f801000, 0x10000fff, 0x3c013c00},
        {"cvt.rs.f16x2.f32 d, a, b, c;", 0x3f800000, 0xbf801fff, 0xffff0001, 0x3c00bc01},
        {"cvt.rs.bf16x2.f32 d, a, b, c;", 0x3f808000, 0x3f808000, 0x80007fff, 0x3f813f80},
        {"cvt.rs.relu.bf16x2.f32 d, a, b, c;", 0xbf808000, 0x7fc00000, 0, 0x00007fff},
        {"cvt.rs.f16x2.f32 d, a, b, c;", 0x7f800000, 0x477fffff, 0x0000ffff, 0x7c007c00},
        {"cvt.rs.satfinite.f16x2.f32 d, a, b, c;", 0xff800000, 0x477fffff, 0x0000ffff, 0xfbff7bff},
        // A denormal of f16: 1.5 * 2^-24.
        {"cvt.rs.f16x2.f32 d, a, b, c;", 0x33c00000, 0x33c00000, 0x10000fff, 0x00020001},
    });
    OpsMachine m(".reg .f32 a, b, e, f; .reg .b32 r, d; .reg .b16 h;");
    m.set<float>("a", {1.0625f});  // half a step of e4m3 above 1
    m.set<float>("b", {1.0625f});
    m.set<float>("e", {-1.0625f});
    m.set<float>("f", {1e9f});
    m.set<uint32_t>("r", {0x00017fff});  // the first of each pair reads its field from the other end
    m.run("cvt.rs.satfinite.e4m3x4.f32 d, {a, b, e, f}, r;");
    EXPECT_EQ(m.get<uint32_t>("d"), 0x3938b97eu);
    m.set<float>("a", {2.5f});
    m.set<float>("b", {-2.5f});
    m.set<float>("e", {7.0f});
    m.set<float>("f", {0.2f});
    m.set<uint32_t>("r", {0});
    m.run("cvt.rs.satfinite.e2m1x4.f32 h, {a, b, e, f}, r;");
    EXPECT_EQ(m.get<uint16_t>("h"), 0x4c70u);
}

TEST(Stochastic, WhatIsUnknownIsUnsupported) {
    OpsMachine m = machine_of(32, 32, 32, 32);
    for (const char* statement : {"cvt.rs.f32.f16 d, a;", "cvt.rs.e4m3x4.f32 d, {a, b, a, b}, c;",
                                  "cvt.rs.satfinite.e4m3x4.f32 d, {a, b}, c;", "cvt.rs.f16x2.f16 d, a, b, c;"}) {
        EXPECT_THROW(m.run(statement), Unsupported) << statement;
    }
}

}  // namespace
}  // namespace recuda::vgpu
