// Values worked out by hand from the semantics in PTX ISA 9.0, section 9.7.18.
#include "device/vgpu/ops/ops_test_support.h"

namespace recuda::vgpu {
namespace {

TEST(Video, Scalar) {
    check<uint32_t, uint32_t, uint32_t, uint32_t>({
        {"vadd.u32.u32.u32 d, a, b;", 0xffffffff, 2, 0, 1},
        {"vadd.u32.u32.u32.sat d, a, b;", 0xffffffff, 2, 0, 0xffffffff},
        {"vadd.s32.u32.s32 d, a.b3, b.h0;", 0xff000000, 0x0000fffe, 0, 253},
        {"vadd.s32.s32.s32 d, a.b3, b.b1;", 0xff000000, 0x00008000, 0, static_cast<uint32_t>(-129)},
        {"vsub.u32.u32.u32.sat d, a, b;", 1, 2, 0, 0},
        {"vsub.s32.u32.u32.sat d, a, b;", 0, 0xffffffff, 0, 0x80000000},
        {"vabsdiff.u32.s32.s32 d, a, b;", 0x80000000, 0x7fffffff, 0, 0xffffffff},
        {"vmin.s32.u32.s32 d, a, b;", 0x80000000, 0xffffffff, 0, 0xffffffff},
        {"vmax.u32.u32.s32 d, a, b;", 0x80000000, 0xffffffff, 0, 0x80000000},
        {"vadd.u32.u32.u32.add d, a, b, c;", 1, 2, 100, 103},
        {"vadd.s32.s32.s32.min d, a, b, c;", 1, 2, 0xffffffff, 0xffffffff},
        {"vadd.s32.s32.s32.max d, a, b, c;", 1, 2, 0xffffffff, 3},
        {"vadd.s32.s32.s32.sat d.b1, a, b, c;", 100, 100, 0x11223344, 0x11227f44},
        {"vadd.u32.u32.u32 d.h1, a, b, c;", 0x1ffff, 2, 0x11223344, 0x00013344},
        {"vadd.s32.s32.s32.sat d, a.b0, b, c;", 0x101, 2, 7, 3},  // c says nothing
        {"vshl.u32.u32.u32.clamp d, a, b;", 3, 40, 0, 0},
        {"vshl.u32.u32.u32.wrap d, a, b;", 3, 33, 0, 6},
        {"vshl.u32.u32.u32.sat.clamp d, a, b;", 3, 31, 0, 0xffffffff},
        {"vshr.s32.s32.u32.clamp d, a, b.b0;", 0x80000000, 0xff, 0, 0xffffffff},
        {"vset.s32.u32.lt d, a, b;", 0xffffffff, 0, 0, 1},
        {"vset.u32.u32.lt.add d, a, b, c;", 1, 2, 41, 42},
        {"vset.u32.u32.ge d.b3, a, b, c;", 1, 2, 0xffffffff, 0x00ffffff},
    });
}

TEST(Video, MultiplyAdd) {
    check<uint32_t, uint32_t, uint32_t, uint32_t>({
        {"vmad.u32.u32.u32 d, a, b, c;", 3, 5, 7, 22},
        {"vmad.u32.u32.u32.po d, a, b, c;", 3, 5, 7, 23},
        {"vmad.s32.u32.u32 d, -a, b, c;", 3, 5, 7, static_cast<uint32_t>(-8)},
        {"vmad.s32.u32.u32 d, a, b, -c;", 3, 5, 7, 8},
        {"vmad.s32.s32.s32 d, a.b0, b.h1, c;", 0xff, 0xfffe0000, 1, 3},
        {"vmad.u32.u32.u32.shr15 d, a, b, c;", 0x10000, 0x10000, 0x8000, 0x20001},
        {"vmad.u32.u32.u32.sat d, a, b, c;", 0x10000, 0x10000, 0, 0xffffffff},
        {"vmad.s32.s32.s32.sat.shr7 d, a, b, c;", 0x80000000, 0x7fffffff, 0, 0x80000000},
    });
}

TEST(Video, Simd) {
    check<uint32_t, uint32_t, uint32_t, uint32_t>({
        {"vadd2.u32.u32.u32 d, a, b, c;", 0xffff0001, 0x00020003, 0, 0x00010004},
        {"vadd2.u32.u32.u32.sat d, a, b, c;", 0xffff0001, 0x00020003, 0, 0xffff0004},
        {"vadd2.s32.s32.s32.add d, a, b, c;", 0xffff0001, 0x00020003, 10, 15},
        {"vadd2.u32.u32.u32 d.h1, a.h00, b.h23, c;", 0x00050007, 0x00010002, 0x11112222, 0x00092222},
        {"vavrg2.s32.s32.s32 d, a, b, c;", 0x0001fffe, 0x0002ffff, 0, 0x0002fffe},
        {"vabsdiff2.u32.s32.s32 d, a, b, c;", 0x80000000, 0x7fff0001, 0, 0xffff0001},
        {"vset2.u32.u32.gt d, a, b, c;", 0x00020001, 0x00010001, 0, 0x00010000},
        {"vadd4.u32.u32.u32.sat d, a, b, c;", 0xff010203, 0x01010101, 0, 0xff020304},
        {"vsub4.s32.u32.u32 d.b20, a, b, c;", 0x05050505, 0x01020304, 0xaabbccdd, 0xaa03cc01},
        {"vmax4.s32.s32.s32 d, a.b0123, b.b7654, c;", 0x80ff7f01, 0x00000000, 0, 0x017f0000},
        {"vset4.u32.u32.eq.add d, a, b, c;", 0x01020304, 0x01ff03ff, 5, 7},
    });
}

TEST(Video, WhatIsUnknownIsUnsupported) {
    OpsMachine m = machine_of(32, 32, 32, 32);
    for (const char* statement :
         {"vadd.u32.u32 d, a, b;", "vadd.u32.u32.u32.add d.b0, a, b, c;", "vadd.u32.u32.u32 d, a.b4, b;",
          "vadd.u32.u32.u32 d, -a, b;", "vmad.u32.u32.u32.po d, -a, b, c;", "vadd2.u32.u32.u32.sat.add d, a, b, c;",
          "vadd2.u32.u32.u32 d, a.h4, b, c;", "vset.u32.u32.num d, a, b;", "vshl.u32.u32.s32.clamp d, a, b;"}) {
        EXPECT_THROW(m.run(statement), Unsupported) << statement;
    }
}

}  // namespace
}  // namespace recuda::vgpu
