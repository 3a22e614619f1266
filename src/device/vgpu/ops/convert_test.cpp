#include <cmath>
#include <random>

#include "device/vgpu/ops/ops_test_support.h"

namespace recuda::vgpu {
namespace {

TEST(Convert, IntegersToIntegers) {
    check<uint32_t, uint32_t, uint32_t, uint32_t>({
        {"cvt.s32.s8 d, a;", 0x1234ff80, 0, 0, 0xffffff80},
        {"cvt.u32.u8 d, a;", 0x1234ff80, 0, 0, 0x80},
        {"cvt.s8.s32 d, a;", 0x000001ff, 0, 0, 0xffffffff},
        {"cvt.u8.u32 d, a;", 0x000001ff, 0, 0, 0xff},
        {"cvt.u16.s8 d, a;", 0x00000080, 0, 0, 0x0000ff80},
        {"cvt.sat.u8.s32 d, a;", 0xffffffff, 0, 0, 0},
        {"cvt.sat.u8.s32 d, a;", 300, 0, 0, 255},
        {"cvt.sat.s8.s32 d, a;", 0xffffff00, 0, 0, 0xffffff80},
        {"cvt.sat.s32.u32 d, a;", 0xffffffff, 0, 0, 0x7fffffff},
        {"cvt.pack.sat.s16.s32 d, a, b;", 40000, 0xffff0000, 0, 0x7fff8000},
        {"cvt.pack.sat.u8.s32.b32 d, a, b, c;", 300, 0xffffffff, 0x1122, 0x1122ff00},
        {"cvt.pack.sat.s4.s32.b32 d, a, b, c;", 100, 0xffffffff, 0xa, 0x0a7f},
    });
    check<uint64_t, uint32_t, uint32_t, uint32_t>({
        {"cvt.s64.s32 d, a;", 0x80000000, 0, 0, 0xffffffff80000000},
        {"cvt.u64.u32 d, a;", 0x80000000, 0, 0, 0x80000000},
        {"cvt.s64.s8 d, a;", 0x80, 0, 0, 0xffffffffffffff80},
        {"cvt.u32.s8 d, a;", 0x80, 0, 0, 0x00000000ffffff80},
    });
    check<uint16_t, uint64_t, uint32_t, uint32_t>({
        {"cvt.u16.u64 d, a;", 0x123456789, 0, 0, 0x6789},
        {"cvt.sat.u16.s64 d, a;", 0x123456789, 0, 0, 0xffff},
        {"cvt.sat.s16.u64 d, a;", 0xffffffffffffffff, 0, 0, 0x7fff},
        {"cvt.sat.s16.s64 d, a;", 0x8000000000000000, 0, 0, 0x8000},
    });
    check<uint32_t, uint16_t, uint32_t, uint32_t>(
        {{"cvt.s32.s16 d, a;", 0x8000, 0, 0, 0xffff8000}, {"cvt.u32.u16 d, a;", 0x8000, 0, 0, 0x8000}});
}

TEST(Convert, FloatsToIntegers) {
    check<uint32_t, uint32_t, uint32_t, uint32_t>({
        {"cvt.rni.s32.f32 d, a;", 0x40200000, 0, 0, 2},  // 2.5
        {"cvt.rzi.s32.f32 d, a;", 0xc0200000, 0, 0, static_cast<uint32_t>(-2)},
        {"cvt.rmi.s32.f32 d, a;", 0xc0200000, 0, 0, static_cast<uint32_t>(-3)},
        {"cvt.rpi.s32.f32 d, a;", 0x40200000, 0, 0, 3},
        {"cvt.rpi.s32.f32 d, a;", 1, 0, 0, 1},
        {"cvt.rpi.ftz.s32.f32 d, a;", 1, 0, 0, 0},
        {"cvt.rzi.s32.f32 d, a;", 0x4f000000, 0, 0, 0x7fffffff},
        {"cvt.rzi.s32.f32 d, a;", 0xff800000, 0, 0, 0x80000000},
        {"cvt.rzi.s32.f32 d, a;", 0x7fc00000, 0, 0, 0},
        {"cvt.rzi.u32.f32 d, a;", 0x4f800000, 0, 0, 0xffffffff},
        {"cvt.rzi.u32.f32 d, a;", 0x4f7fffff, 0, 0, 0xffffff00},
        {"cvt.rzi.u32.f32 d, a;", 0xbf800000, 0, 0, 0},
        {"cvt.rzi.u32.f32 d, a;", 0x7fc00000, 0, 0, 0},
        {"cvt.rni.s8.f32 d, a;", 0xc3800000, 0, 0, 0xffffff80},
        {"cvt.rzi.u8.f32 d, a;", 0x43800000, 0, 0, 0xff},
    });
    check<uint64_t, uint32_t, uint32_t, uint32_t>({
        {"cvt.rzi.s64.f32 d, a;", 0x5f000000, 0, 0, 0x7fffffffffffffff},
        {"cvt.rzi.u64.f32 d, a;", 0x5f000000, 0, 0, 0x8000000000000000},
        {"cvt.rzi.u64.f32 d, a;", 0x7fc00000, 0, 0, 0x8000000000000000},
    });
    check<uint32_t, uint64_t, uint32_t, uint32_t>({
        {"cvt.rzi.s32.f64 d, a;", 0xc1e0000000200000, 0, 0, 0x80000000},
        {"cvt.rzi.s32.f64 d, a;", 0x7ff8000000000000, 0, 0, 0x80000000},
        {"cvt.rni.u32.f64 d, a;", 0x41efffffffffffff, 0, 0, 0xffffffff},
    });
    check<uint32_t, uint16_t, uint32_t, uint32_t>({
        {"cvt.rni.s32.f16 d, a;", 0x4100, 0, 0, 2},
        {"cvt.rzi.u32.bf16 d, a;", 0x4120, 0, 0, 10},
    });
}

TEST(Convert, IntegersToFloats) {
    check<uint32_t, uint32_t, uint32_t, uint32_t>({
        {"cvt.rn.f32.s32 d, a;", 16777217, 0, 0, 0x4b800000},
        {"cvt.rp.f32.s32 d, a;", 16777217, 0, 0, 0x4b800001},
        {"cvt.rm.f32.s32 d, a;", static_cast<uint32_t>(-16777217), 0, 0, 0xcb800001},
        {"cvt.rn.f32.u32 d, a;", 0xffffffff, 0, 0, 0x4f800000},
        {"cvt.rz.f32.u32 d, a;", 0xffffffff, 0, 0, 0x4f7fffff},
        {"cvt.rn.f32.s8 d, a;", 0x80, 0, 0, 0xc3000000},
        {"cvt.rn.sat.f32.s32 d, a;", 5, 0, 0, 0x3f800000},
    });
    check<uint32_t, uint64_t, uint32_t, uint32_t>({
        {"cvt.rn.f32.s64 d, a;", 0x8000000000000000, 0, 0, 0xdf000000},
        {"cvt.rn.f32.u64 d, a;", 0x8000008000000001, 0, 0, 0x5f000001},  // above a tie by the last digit
        {"cvt.rn.f32.u64 d, a;", 0x8000008000000000, 0, 0, 0x5f000000},
        {"cvt.rz.f32.u64 d, a;", 0xffffffffffffffff, 0, 0, 0x5f7fffff},
    });
    check<uint64_t, uint64_t, uint32_t, uint32_t>({
        {"cvt.rn.f64.u64 d, a;", 0xffffffffffffffff, 0, 0, 0x43f0000000000000},
        {"cvt.rz.f64.u64 d, a;", 0xffffffffffffffff, 0, 0, 0x43efffffffffffff},
        {"cvt.rm.f64.s64 d, a;", 0x8000000000000001, 0, 0, 0xc3e0000000000000},
        {"cvt.rp.f64.s64 d, a;", 0x8000000000000001, 0, 0, 0xc3dfffffffffffff},
        {"cvt.rn.f64.s64 d, a;", 0x0020000000000001, 0, 0, 0x4340000000000000},
    });
    check<uint16_t, uint64_t, uint32_t, uint32_t>({
        {"cvt.rn.f16.s64 d, a;", 2049, 0, 0, 0x6800},
        {"cvt.rp.f16.s64 d, a;", 2049, 0, 0, 0x6801},
        {"cvt.rn.bf16.u64 d, a;", 0x8080000000000001, 0, 0, 0x5f01},
    });
    check<uint64_t, uint32_t, uint32_t, uint32_t>({{"cvt.rn.f64.s32 d, a;", 0x80000000, 0, 0, 0xc1e0000000000000},
                                                   {"cvt.rn.f64.u32 d, a;", 0x80000000, 0, 0, 0x41e0000000000000}});
}

TEST(Convert, FloatsToFloats) {
    check<uint16_t, uint32_t, uint32_t, uint32_t>({
        {"cvt.rn.f16.f32 d, a;", 0x477ff000, 0, 0, 0x7c00},
        {"cvt.rz.f16.f32 d, a;", 0x477ff000, 0, 0, 0x7bff},
        {"cvt.rn.f16.f32 d, a;", 0x33000001, 0, 0, 0x0001},
        {"cvt.rn.f16.f32 d, a;", 0x33000000, 0, 0, 0x0000},
        {"cvt.rp.f16.f32 d, a;", 0x00000001, 0, 0, 0x0001},
        {"cvt.rm.f16.f32 d, a;", 0x80000001, 0, 0, 0x8001},
        {"cvt.rn.f16.f32 d, a;", 0xffc00000, 0, 0, 0x7fff},
        {"cvt.rn.relu.f16.f32 d, a;", 0xbf800000, 0, 0, 0},
        {"cvt.rn.satfinite.f16.f32 d, a;", 0x7f800000, 0, 0, 0x7bff},
        {"cvt.rn.bf16.f32 d, a;", 0x3f808000, 0, 0, 0x3f80},
        {"cvt.rn.bf16.f32 d, a;", 0x3f818000, 0, 0, 0x3f82},
        {"cvt.rn.bf16.f32 d, a;", 0x7f7fffff, 0, 0, 0x7f80},
        {"cvt.rz.bf16.f32 d, a;", 0x3f80ffff, 0, 0, 0x3f80},
        {"cvt.rn.bf16.f32 d, a;", 0x7f800001, 0, 0, 0x7fff},
    });
    check<uint32_t, uint32_t, uint32_t, uint32_t>({
        {"cvt.rn.bf16x2.f32 d, a, b;", 0x3f800000, 0x40000000, 0, 0x3f804000},
        {"cvt.rn.f16x2.f32 d, a, b;", 0x3f800000, 0x40000000, 0, 0x3c004000},
        {"cvt.rz.relu.bf16x2.f32 d, a, b;", 0xbf800000, 0x3f80ffff, 0, 0x00003f80},
        {"cvt.rn.satfinite.f16x2.f32 d, a, b;", 0x7f800000, 0xff800000, 0, 0x7bfffbff},
        {"cvt.rna.tf32.f32 d, a;", 0x3f801000, 0, 0, 0x3f802000},
        {"cvt.rn.tf32.f32 d, a;", 0x3f801000, 0, 0, 0x3f800000},
        {"cvt.rz.tf32.f32 d, a;", 0x3f801fff, 0, 0, 0x3f800000},
        {"cvt.rni.f32.f32 d, a;", 0x3fc00000, 0, 0, 0x40000000},
        {"cvt.rzi.f32.f32 d, a;", 0xbf400000, 0, 0, 0x80000000},
        {"cvt.sat.f32.f32 d, a;", 0x40000000, 0, 0, 0x3f800000},
    });
    check<uint32_t, uint16_t, uint32_t, uint32_t>({
        {"cvt.f32.f16 d, a;", 0x0001, 0, 0, 0x33800000},
        {"cvt.f32.f16 d, a;", 0xfc00, 0, 0, 0xff800000},
        {"cvt.f32.f16 d, a;", 0x7e01, 0, 0, kNan},
        {"cvt.f32.bf16 d, a;", 0x7fc1, 0, 0, 0x7fc10000},
    });
    check<uint32_t, uint64_t, uint32_t, uint32_t>({
        {"cvt.rn.f32.f64 d, a;", 0x3ff0000010000000, 0, 0, 0x3f800000},
        {"cvt.rn.f32.f64 d, a;", 0x3ff0000010000001, 0, 0, 0x3f800001},
        {"cvt.rz.f32.f64 d, a;", 0x47f0000000000000, 0, 0, 0x7f7fffff},
        {"cvt.rp.f32.f64 d, a;", 0x0000000000000001, 0, 0, 1},
    });
    check<uint16_t, uint64_t, uint32_t, uint32_t>(
        {{"cvt.rn.f16.f64 d, a;", 0x3ff0020000000001, 0, 0, 0x3c01}});  // just above a tie
    check<uint64_t, uint32_t, uint32_t, uint32_t>({{"cvt.f64.f32 d, a;", 1, 0, 0, 0x36a0000000000000}});
}

// Every code goes to its number and back; every tie between two numbers goes to the even code.
template <typename Widen, typename Narrow>
void check_codes(uint32_t first_not, uint32_t step_even, Widen widen, Narrow narrow) {
    for (uint32_t code = 0; code < first_not; ++code) {
        const float x = widen(code);
        ASSERT_EQ(narrow(x), code);
        if (code + 1 == first_not) break;
        const float middle = 0.5f * (x + widen(code + 1));
        ASSERT_EQ(narrow(middle), (code & step_even) == 0 ? code : code + 1) << code;
        ASSERT_EQ(narrow(std::nextafter(middle, 0.0f)), code);
        ASSERT_EQ(narrow(std::nextafter(middle, INFINITY)), code + 1);
    }
}

TEST(Convert, SmallFormats) {
    check_codes(0x7f, 1, from_small<kE4m3>, to_small<kE4m3>);
    check_codes(0x7c, 1, from_small<kE5m2>, to_small<kE5m2>);
    check_codes(0x08, 1, from_small<kE2m1>, to_small<kE2m1>);
    check_codes(0x20, 1, from_small<kE2m3>, to_small<kE2m3>);
    check_codes(0x20, 1, from_small<kE3m2>, to_small<kE3m2>);
    EXPECT_EQ(from_small<kE4m3>(0x7e), 448.0f);
    EXPECT_EQ(from_small<kE5m2>(0x7b), 57344.0f);
    EXPECT_EQ(from_small<kE5m2>(0x7c), INFINITY);
    EXPECT_EQ(from_small<kE2m1>(0x7), 6.0f);
    EXPECT_EQ(from_small<kE2m3>(0x1f), 7.5f);
    EXPECT_EQ(from_small<kE3m2>(0x1f), 28.0f);
    EXPECT_EQ(to_small<kE4m3>(-1e9f), 0xfeu);
    EXPECT_EQ(to_small<kE5m2>(-INFINITY), 0xfbu);
    EXPECT_EQ(to_small<kE4m3>(NAN), 0x7fu);
}

TEST(Convert, PackedCodes) {
    check<uint16_t, uint32_t, uint32_t, uint32_t>({
        {"cvt.rn.satfinite.e4m3x2.f32 d, a, b;", 0x3f800000, 0xc0000000, 0, 0x38c0},
        {"cvt.rn.satfinite.relu.e4m3x2.f32 d, a, b;", 0x3f800000, 0xc0000000, 0, 0x3800},
        {"cvt.rn.satfinite.e5m2x2.f32 d, a, b;", 0x3f800000, 0xc0000000, 0, 0x3cc0},
        {"cvt.rn.satfinite.e4m3x2.f16x2 d, a;", 0x3c00c000, 0, 0, 0x38c0},
        {"cvt.rn.satfinite.e2m3x2.f32 d, a, b;", 0x3f800000, 0xc0000000, 0, 0x0830},
        {"cvt.rz.satfinite.ue8m0x2.f32 d, a, b;", 0x3fc00000, 0x40000000, 0, 0x7f80},
        {"cvt.rp.satfinite.ue8m0x2.f32 d, a, b;", 0x3fc00000, 0x40000000, 0, 0x8080},
    });
    check<uint32_t, uint16_t, uint32_t, uint32_t>({
        {"cvt.rn.f16x2.e4m3x2 d, a;", 0x38c0, 0, 0, 0x3c00c000},
        {"cvt.rn.relu.f16x2.e5m2x2 d, a;", 0x3cc0, 0, 0, 0x3c000000},
        {"cvt.rn.f16x2.e4m3x2 d, a;", 0x7f01, 0, 0, 0x7fff1800},
        {"cvt.rn.bf16x2.ue8m0x2 d, a;", 0x7f80, 0, 0, 0x3f804000},
    });
    OpsMachine m(".reg .b8 code; .reg .f32 a, b; .reg .b32 d;");
    m.set<float>("a", {1.5f});
    m.set<float>("b", {-6.0f});
    m.run("cvt.rn.satfinite.e2m1x2.f32 code, a, b;");
    EXPECT_EQ(m.get<uint16_t>("code"), 0x3f);
    m.run("cvt.rn.f16x2.e2m1x2 d, code;");
    EXPECT_EQ(m.get<uint32_t>("d"), 0x3e00c600u);
}

TEST(Convert, WhatIsUnknownIsUnsupported) {
    OpsMachine m = machine_of(32, 32, 32, 32);
    for (const char* statement : {"cvt.s32.f32 d, a;", "cvt.rn.frob.f32.s32 d, a;", "cvt.u64.u32 d, a;",
                                  "cvt.rs.e4m3x4.f32 d, a, b, c;", "cvt.pack.sat.s16.u32 d, a, b;"}) {
        EXPECT_THROW(m.run(statement), Unsupported) << statement;
    }
}

}  // namespace
}  // namespace recuda::vgpu
