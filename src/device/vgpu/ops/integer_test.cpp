#include "device/vgpu/ops/ops_test_support.h"

namespace recuda::vgpu {
namespace {

TEST(Integer, SumsWrapAndSaturate) {
    check<uint32_t, uint32_t, uint32_t, uint32_t>({
        {"add.s32 d, a, b;", 0x7fffffff, 1, 0, 0x80000000},
        {"add.u32 d, a, 5;", 0xffffffff, 0, 0, 4},
        {"sub.s32 d, a, b;", 0, 1, 0, 0xffffffff},
        {"add.sat.s32 d, a, b;", 0x7fffffff, 1, 0, 0x7fffffff},
        {"add.sat.s32 d, a, b;", 0x80000000, 0xffffffff, 0, 0x80000000},
        {"sub.sat.s32 d, a, b;", 0x80000000, 1, 0, 0x80000000},
        {"sub.sat.s32 d, a, b;", 5, 7, 0, 0xfffffffe},
        {"add.u16x2 d, a, b;", 0xffff0001, 0x0001ffff, 0, 0x00000000},
        {"add.s16x2 d, a, b;", 0x7fff0002, 0x00010003, 0, 0x80000005},
    });
    check<uint16_t, uint16_t, uint16_t, uint16_t>({
        {"add.s16 d, a, b;", 0xffff, 2, 0, 1},
        {"sub.u16 d, a, b;", 1, 3, 0, 0xfffe},
    });
    check<uint64_t, uint64_t, uint64_t, uint64_t>({
        {"add.s64 d, a, b;", 0xffffffffffffffff, 2, 0, 1},
        {"sub.u64 d, a, b;", 0, 1, 0, 0xffffffffffffffff},
    });
}

TEST(Integer, Products) {
    check<uint32_t, uint32_t, uint32_t, uint32_t>({
        {"mul.lo.s32 d, a, b;", 0xffffffff, 7, 0, 0xfffffff9},
        {"mul.hi.s32 d, a, b;", 0xffffffff, 7, 0, 0xffffffff},
        {"mul.hi.u32 d, a, b;", 0xffffffff, 7, 0, 6},
        {"mad.lo.u32 d, a, b, c;", 0x10001, 0x10001, 5, 0x20006},
        {"mad.hi.s32 d, a, b, c;", 0x80000000, 0x80000000, 1, 0x40000001},
        {"mad.hi.sat.s32 d, a, b, c;", 0x80000000, 0x80000000, 0x7fffffff, 0x7fffffff},
        {"mul24.lo.s32 d, a, b;", 0x00ffffff, 2, 0, 0xfffffffe},
        {"mul24.lo.u32 d, a, b;", 0xffffffff, 2, 0, 0x01fffffe},
        {"mul24.hi.u32 d, a, b;", 0x00ffffff, 0x00ffffff, 0, 0xfffffe00},
        {"mad24.lo.s32 d, a, b, c;", 0x00ffffff, 2, 3, 1},
        {"mad24.hi.sat.s32 d, a, b, c;", 0x007fffff, 0x007fffff, 0x7fffffff, 0x7fffffff},
        {"sad.u32 d, a, b, c;", 3, 0xffffffff, 1, 0xfffffffd},
        {"sad.s32 d, a, b, c;", 3, 0xffffffff, 1, 5},
    });
    check<uint32_t, uint16_t, uint16_t, uint32_t>({
        {"mul.wide.s16 d, a, b;", 0xffff, 3, 0, 0xfffffffd},
        {"mul.wide.u16 d, a, b;", 0xffff, 3, 0, 0x2fffd},
        {"mad.wide.u16 d, a, b, c;", 0xffff, 0xffff, 1, 0xfffe0002},
    });
    check<uint16_t, uint16_t, uint16_t, uint16_t>({
        {"mul.lo.s16 d, a, b;", 0xffff, 0xffff, 0, 1},
        {"mul.hi.s16 d, a, b;", 0x8000, 0x8000, 0, 0x4000},
        {"mad.lo.s16 d, a, b, c;", 300, 300, 7, 24471},
    });
    check<uint64_t, uint32_t, uint32_t, uint64_t>({
        {"mul.wide.s32 d, a, b;", 0xffffffff, 4, 0, 0xfffffffffffffffc},
        {"mul.wide.u32 d, a, b;", 0xffffffff, 4, 0, 0x3fffffffc},
        {"mad.wide.s32 d, a, b, c;", 0x80000000, 2, 1, 0xffffffff00000001},
    });
    check<uint64_t, uint64_t, uint64_t, uint64_t>({
        {"mul.lo.u64 d, a, b;", 0x100000001, 0x100000001, 0, 0x200000001},
        {"mul.hi.u64 d, a, b;", 0xffffffffffffffff, 0xffffffffffffffff, 0, 0xfffffffffffffffe},
        {"mul.hi.s64 d, a, b;", 0xffffffffffffffff, 0xffffffffffffffff, 0, 0},
        {"mad.lo.s64 d, a, b, c;", 3, 0xffffffffffffffff, 5, 2},
    });
}

TEST(Integer, QuotientsAreTotal) {
    check<uint32_t, uint32_t, uint32_t, uint32_t>({
        {"div.s32 d, a, b;", 0xfffffff9, 2, 0, 0xfffffffd},
        {"rem.s32 d, a, b;", 0xfffffff9, 2, 0, 0xffffffff},
        {"div.u32 d, a, b;", 0xfffffff9, 2, 0, 0x7ffffffc},
        {"div.s32 d, a, b;", 0x80000000, 0xffffffff, 0, 0x80000000},
        {"rem.s32 d, a, b;", 0x80000000, 0xffffffff, 0, 0},
        {"div.u32 d, a, b;", 7, 0, 0, 0xffffffff},
    });
    check<uint64_t, uint64_t, uint64_t, uint64_t>({
        {"div.s64 d, a, b;", 0xffffffffffffff9c, 7, 0, 0xfffffffffffffff2},
        {"rem.u64 d, a, b;", 100, 7, 0, 2},
        {"rem.u64 d, a, b;", 100, 0, 0, ~uint64_t{0}},
    });
    check<uint16_t, uint16_t, uint16_t, uint16_t>({
        {"div.s16 d, a, b;", 0x8000, 0xffff, 0, 0x8000},
        {"rem.s16 d, a, b;", 0xfff9, 4, 0, 0xfffd},
    });
}

TEST(Integer, SignsAndExtremes) {
    check<uint32_t, uint32_t, uint32_t, uint32_t>({
        {"neg.s32 d, a;", 0x80000000, 0, 0, 0x80000000},
        {"abs.s32 d, a;", 0xfffffffb, 0, 0, 5},
        {"abs.s32 d, a;", 0x80000000, 0, 0, 0x80000000},
        {"min.s32 d, a, b;", 0xffffffff, 1, 0, 0xffffffff},
        {"min.u32 d, a, b;", 0xffffffff, 1, 0, 1},
        {"max.s32 d, a, b;", 0xffffffff, 1, 0, 1},
        {"max.relu.s32 d, a, b;", 0xffffffff, 0xfffffff0, 0, 0},
        {"min.relu.s32 d, a, b;", 5, 7, 0, 5},
        {"max.s16x2 d, a, b;", 0xffff0005, 0x00010003, 0, 0x00010005},
        {"min.u16x2 d, a, b;", 0xffff0005, 0x00010003, 0, 0x00010003},
        {"max.relu.s16x2 d, a, b;", 0xffff0005, 0xfff00003, 0, 0x00000005},
    });
    check<uint16_t, uint16_t, uint16_t, uint16_t>({
        {"neg.s16 d, a;", 1, 0, 0, 0xffff},
        {"max.u16 d, a, b;", 0xffff, 1, 0, 0xffff},
        {"max.s16 d, a, b;", 0xffff, 1, 0, 1},
    });
}

TEST(Integer, DotProducts) {
    check<uint32_t, uint32_t, uint32_t, uint32_t>({
        {"dp4a.s32.s32 d, a, b, c;", 0xff010203, 0x02030405, 100, 100 - 2 + 3 + 8 + 15},
        {"dp4a.u32.u32 d, a, b, c;", 0xff010203, 0x02030405, 0, 510 + 3 + 8 + 15},
        {"dp4a.u32.s32 d, a, b, c;", 0xff000000, 0xff000000, 0, static_cast<uint32_t>(-255)},
        {"dp2a.lo.s32.u32 d, a, b, c;", 0xffff0002, 0xff00fe03, 1, static_cast<uint32_t>(1 + 6 - 254)},
        {"dp2a.hi.u32.s32 d, a, b, c;", 0xffff0002, 0xff030000, 0, static_cast<uint32_t>(6 - 65535)},
    });
}

TEST(Integer, CarryChains) {
    OpsMachine m(".reg .u32 x<4>, y<4>, s<4>; .reg .u64 l<2>, k<2>, t<2>;");
    m.set<uint32_t>("x0", {0xffffffff, 1});
    m.set<uint32_t>("x1", {0xffffffff, 2});
    m.set<uint32_t>("y0", {1, 1});
    m.set<uint32_t>("y1", {0, 3});
    m.run("add.cc.u32 s0, x0, y0; addc.cc.u32 s1, x1, y1; addc.u32 s2, 0, 0;");
    EXPECT_EQ(m.get<uint32_t>("s0"), 0u);
    EXPECT_EQ(m.get<uint32_t>("s1"), 0u);
    EXPECT_EQ(m.get<uint32_t>("s2"), 1u);
    EXPECT_EQ(m.get<uint32_t>("s1", 1), 5u);
    EXPECT_EQ(m.get<uint32_t>("s2", 1), 0u);
    m.run("sub.cc.u32 s0, y1, y0; subc.cc.u32 s1, y1, 0; subc.u32 s2, 0, 0;");
    EXPECT_EQ(m.get<uint32_t>("s0"), 0xffffffffu);
    EXPECT_EQ(m.get<uint32_t>("s1"), 0xffffffffu);
    EXPECT_EQ(m.get<uint32_t>("s2"), 0xffffffffu);
    EXPECT_EQ(m.get<uint32_t>("s2", 1), 0u);
    m.run(
        "sub.cc.u32 s0, 5, 3; addc.u32 s1, 0, 0; sub.cc.u32 s0, 3, 5; addc.u32 s2, 0, 0;");  // 1: nothing was borrowed
    EXPECT_EQ(m.get<uint32_t>("s1"), 1u);
    EXPECT_EQ(m.get<uint32_t>("s2"), 0u);
    m.run("mad.lo.cc.u32 s0, x0, x0, y0; madc.hi.u32 s1, x0, x0, 0;");
    EXPECT_EQ(m.get<uint32_t>("s0"), 2u);
    EXPECT_EQ(m.get<uint32_t>("s1"), 0xfffffffeu);
    m.run("mad.lo.cc.u32 s0, x0, 1, x0; madc.lo.cc.u32 s1, 0, 0, x1; addc.u32 s2, 7, 0;");
    EXPECT_EQ(m.get<uint32_t>("s1"), 0u);
    EXPECT_EQ(m.get<uint32_t>("s2"), 8u);
    m.set<uint64_t>("l0", {~uint64_t{0}});
    m.run("add.cc.u64 t0, l0, 1; addc.u64 t1, 5, 5;");
    EXPECT_EQ(m.get<uint64_t>("t1"), 11u);
}

TEST(Integer, OnlyActiveLanesChange) {
    OpsMachine m(".reg .u32 a, d; .reg .u64 e; .reg .u16 h; .reg .pred p;");
    m.set<uint32_t>("a", {1, 2, 3, 4});
    m.set<uint32_t>("d", {9});
    m.set<uint64_t>("e", {9});
    m.set<uint16_t>("h", {9});
    m.set_mask("p", 0x80010005);
    m.run("@p add.u32 d, a, a; @!p mul.wide.u32 e, a, a; @p add.u16 h, 1, 2;");
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const bool on = (0x80010005u >> lane & 1) != 0;
        const uint32_t a = std::min(lane + 1, 4u);
        EXPECT_EQ(m.get<uint32_t>("d", lane), on ? 2 * a : 9) << lane;
        EXPECT_EQ(m.get<uint64_t>("e", lane), on ? 9 : a * a) << lane;
        EXPECT_EQ(m.get<uint16_t>("h", lane), on ? 3 : 9) << lane;
    }
}

TEST(Integer, WhatIsUnknownIsUnsupported) {
    OpsMachine m = machine_of(32, 32, 32, 32);
    for (const char* statement :
         {"add.frob.s32 d, a, b;", "mul.s32 d, a, b;", "add.sat.u32 d, a, b;", "mul.wide.s64 d, a, b;", "neg.u32 d, a;",
          "add.s32 d, a;", "dp4a.s32 d, a, b, c;", "mad.lo.sat.s32 d, a, b, c;", "add.s64 d, a, b;"}) {
        EXPECT_THROW(m.run(statement), Unsupported) << statement;
    }
}

}  // namespace
}  // namespace recuda::vgpu
