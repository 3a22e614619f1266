#include "device/vgpu/ops/ops_test_support.h"

namespace recuda::vgpu {
namespace {

TEST(Bit, Logic) {
    check<uint32_t, uint32_t, uint32_t, uint32_t>({
        {"and.b32 d, a, b;", 0xff00ff00, 0x0ff00ff0, 0, 0x0f000f00},
        {"or.b32 d, a, b;", 0xff00ff00, 0x0ff00ff0, 0, 0xfff0fff0},
        {"xor.b32 d, a, b;", 0xff00ff00, 0x0ff00ff0, 0, 0xf0f0f0f0},
        {"not.b32 d, a;", 0xff00ff00, 0, 0, 0x00ff00ff},
        {"cnot.b32 d, a;", 0, 0, 0, 1},
        {"cnot.b32 d, a;", 7, 0, 0, 0},
    });
    check<uint16_t, uint16_t, uint16_t, uint16_t>(
        {{"not.b16 d, a;", 0xff00, 0, 0, 0x00ff}, {"and.b16 d, a, b;", 0xff00, 0x0ff0, 0, 0x0f00}});
    check<uint64_t, uint64_t, uint64_t, uint64_t>({{"xor.b64 d, a, b;", 1, 0x8000000000000000, 0, 0x8000000000000001}});
    OpsMachine m(".reg .pred p, q, r;");
    m.set_mask("p", 0xff00ff00);
    m.set_mask("q", 0x0ff00ff0);
    m.set_mask("r", 0);
    m.run("and.pred r, p, q;");
    EXPECT_EQ(m.mask("r"), 0x0f000f00u);
    m.run("not.pred r, p;", 0x0000ffff);
    EXPECT_EQ(m.mask("r"), 0x0f0000ffu);
}

TEST(Bit, EveryTableOfLop3) {
    for (uint32_t table = 0; table < 256; ++table) {
        OpsMachine m = machine_of(32, 32, 32, 32);
        const auto d = m.result_of<uint32_t>("lop3.b32 d, a, b, c, " + std::to_string(table) + ";", 0xf0f0f0f0u,
                                             0xccccccccu, 0xaaaaaaaau);
        EXPECT_EQ(d, table * 0x01010101u);
    }
    OpsMachine m = machine_of(32, 32, 32, 32);
    m.set<uint32_t>("a", {0, 1, 0, 1});
    m.set<uint32_t>("b", {0});
    m.set<uint32_t>("c", {0});
    m.set_mask("q", 4);
    m.run("lop3.or.b32 d|p, a, b, c, 0xfe, q;");
    EXPECT_EQ(m.mask("p") & 7, 6u);
    m.run("lop3.and.b32 _|p, a, b, c, 0xfe, !q;");
    EXPECT_EQ(m.mask("p") & 15, 10u);
}

TEST(Bit, Shifts) {
    check<uint32_t, uint32_t, uint32_t, uint32_t>({
        {"shl.b32 d, a, b;", 0x80000001, 4, 0, 0x10},
        {"shl.b32 d, a, b;", 1, 32, 0, 0},
        {"shl.b32 d, a, b;", 1, 0xffffffff, 0, 0},
        {"shr.u32 d, a, b;", 0x80000001, 4, 0, 0x08000000},
        {"shr.u32 d, a, b;", 0x80000001, 33, 0, 0},
        {"shr.s32 d, a, b;", 0x80000001, 4, 0, 0xf8000000},
        {"shr.s32 d, a, b;", 0x80000001, 200, 0, 0xffffffff},
        {"shr.b32 d, a, 1;", 0x80000001, 0, 0, 0x40000000},
        {"shf.l.wrap.b32 d, a, b, c;", 0x80000000, 0x00000001, 33, 3},
        {"shf.l.clamp.b32 d, a, b, c;", 0x80000000, 0x00000001, 33, 0x80000000},
        {"shf.r.wrap.b32 d, a, b, c;", 0x80000000, 0x00000001, 33, 0xc0000000},
        {"shf.r.clamp.b32 d, a, b, c;", 0x80000000, 0x00000001, 33, 1},
    });
    check<uint16_t, uint16_t, uint32_t, uint32_t>({
        {"shl.b16 d, a, b;", 0x8001, 4, 0, 0x10},
        {"shr.s16 d, a, b;", 0x8001, 16, 0, 0xffff},
        {"shr.u16 d, a, b;", 0x8001, 15, 0, 1},
    });
    check<uint64_t, uint64_t, uint32_t, uint32_t>({
        {"shl.b64 d, a, b;", 1, 63, 0, 0x8000000000000000},
        {"shl.b64 d, a, b;", 1, 64, 0, 0},
        {"shr.s64 d, a, b;", 0x8000000000000000, 99, 0, 0xffffffffffffffff},
        {"shr.u64 d, a, b;", 0x8000000000000000, 63, 0, 1},
    });
}

TEST(Bit, Permutations) {
    check<uint32_t, uint32_t, uint32_t, uint32_t>({
        {"prmt.b32 d, a, b, 0x5410;", 0x33221100, 0x77665544, 0, 0x55441100},
        {"prmt.b32 d, a, b, 0x7632;", 0x33221100, 0x77665544, 0, 0x77663322},
        {"prmt.b32 d, a, b, 0x5432;", 0x33221100, 0x77665544, 0, 0x55443322},
        {"prmt.b32 d, a, b, 0x0246;", 0x33221100, 0x77665544, 0, 0x00224466},
        {"prmt.b32 d, a, b, 0x98f0;", 0x33229900, 0xf7665544, 0, 0xff00ff00},
        {"prmt.b32 d, a, b, c;", 0x33221100, 0x77665544, 0xffff7654, 0x77665544},
        {"prmt.b32.f4e d, a, b, c;", 0x33221100, 0x77665544, 1, 0x44332211},
        {"prmt.b32.b4e d, a, b, c;", 0x33221100, 0x77665544, 1, 0x66770011},
        {"prmt.b32.rc8 d, a, b, c;", 0x33221100, 0x77665544, 2, 0x22222222},
        {"prmt.b32.ecl d, a, b, c;", 0x33221100, 0x77665544, 1, 0x33221111},
        {"prmt.b32.ecr d, a, b, c;", 0x33221100, 0x77665544, 1, 0x11111100},
        {"prmt.b32.rc16 d, a, b, c;", 0x33221100, 0x77665544, 3, 0x33223322},
    });
}

TEST(Bit, FieldsAndMasks) {
    check<uint32_t, uint32_t, uint32_t, uint32_t>({
        {"bfe.u32 d, a, b, c;", 0x12345678, 8, 12, 0x456},
        {"bfe.s32 d, a, b, c;", 0x00000f00, 8, 4, 0xffffffff},
        {"bfe.s32 d, a, b, c;", 0x80000000, 28, 16, 0xfffffff8},
        {"bfe.u32 d, a, b, c;", 0x80000000, 28, 16, 8},
        {"bfe.s32 d, a, b, c;", 0x80000000, 40, 3, 0xffffffff},
        {"bfe.s32 d, a, b, c;", 0xffffffff, 4, 0, 0},
        {"bfe.u32 d, a, b, c;", 0x12345678, 0x108, 0x10c, 0x456},
        {"bfe.u32 d, a, 0, 32;", 0x12345678, 0, 0, 0x12345678},
        {"bmsk.clamp.b32 d, a, b;", 4, 8, 0, 0xff0},
        {"bmsk.clamp.b32 d, a, b;", 28, 40, 0, 0xf0000000},
        {"bmsk.wrap.b32 d, a, b;", 33, 35, 0, 0xe},
        {"szext.clamp.s32 d, a, b;", 0xff, 8, 0, 0xffffffff},
        {"szext.clamp.u32 d, a, b;", 0x1ff, 8, 0, 0xff},
        {"szext.clamp.s32 d, a, b;", 0x1ff, 99, 0, 0x1ff},
        {"szext.wrap.u32 d, a, b;", 0x1ff, 36, 0, 0xf},
        {"bfind.u32 d, a;", 0x00010000, 0, 0, 16},
        {"bfind.u32 d, a;", 0, 0, 0, 0xffffffff},
        {"bfind.s32 d, a;", 0xffffffff, 0, 0, 0xffffffff},
        {"bfind.s32 d, a;", 0xfffeffff, 0, 0, 16},
        {"bfind.shiftamt.u32 d, a;", 0x00010000, 0, 0, 15},
        {"fns.b32 d, a, b, c;", 0xaaaaaaaa, 3, 1, 3},
        {"fns.b32 d, a, b, c;", 0xaaaaaaaa, 3, 2, 5},
        {"fns.b32 d, a, b, c;", 0xaaaaaaaa, 3, 0xfffffffe, 1},
        {"fns.b32 d, a, b, c;", 0xaaaaaaaa, 2, 0, 0xffffffff},
        {"fns.b32 d, a, b, c;", 0xaaaaaaaa, 2, 99, 0xffffffff},
        {"brev.b32 d, a;", 0x00000013, 0, 0, 0xc8000000},
        {"popc.b32 d, a;", 0xf0f0f0f1, 0, 0, 17},
        {"clz.b32 d, a;", 0x00010000, 0, 0, 15},
        {"clz.b32 d, a;", 0, 0, 0, 32},
    });
    OpsMachine m(".reg .b32 a, b, d; .reg .b64 x, y, z;");
    m.set<uint32_t>("a", {0xabc});
    m.set<uint32_t>("b", {0xffffffff});
    m.run("bfi.b32 d, a, b, 8, 12;");
    EXPECT_EQ(m.get<uint32_t>("d"), 0xfffabcffu);
    m.run("bfi.b32 d, a, b, 24, 200;");
    EXPECT_EQ(m.get<uint32_t>("d"), 0xbcffffffu);
    m.run("bfi.b32 d, a, b, 3, 0;");
    EXPECT_EQ(m.get<uint32_t>("d"), 0xffffffffu);
    m.set<uint64_t>("x", {0x123456789});
    m.set<uint64_t>("y", {0});
    m.run("bfi.b64 z, x, y, 32, 32;");
    EXPECT_EQ(m.get<uint64_t>("z"), 0x2345678900000000u);
    m.run("bfe.s64 z, x, 32, 1;");
    EXPECT_EQ(m.get<uint64_t>("z"), 0xffffffffffffffffu);
    m.run("popc.b64 d, x;");
    EXPECT_EQ(m.get<uint32_t>("d"), static_cast<uint32_t>(std::popcount(0x123456789u)));
    m.run("clz.b64 d, x;");
    EXPECT_EQ(m.get<uint32_t>("d"), 31u);
    m.run("brev.b64 z, x;");
    EXPECT_EQ(m.get<uint64_t>("z"), 0x91e6a2c480000000u);
}

TEST(Bit, NegatedPredicates) {
    OpsMachine m(".reg .pred p, q, r;");
    m.set_mask("p", 0b1100);
    m.set_mask("q", 0b1010);
    m.run("and.pred r, !p, q;", 0xf);
    EXPECT_EQ(m.mask("r") & 0xf, 0b0010u);
    m.run("or.pred r, p, !q;", 0xf);
    EXPECT_EQ(m.mask("r") & 0xf, 0b1101u);
    m.run("xor.pred r, !p, !q;", 0xf);
    EXPECT_EQ(m.mask("r") & 0xf, 0b0110u);
    m.run("not.pred r, !p;", 0xf);
    EXPECT_EQ(m.mask("r") & 0xf, 0b1100u);
}

}  // namespace
}  // namespace recuda::vgpu
