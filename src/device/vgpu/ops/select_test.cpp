#include "device/vgpu/ops/ops_test_support.h"

namespace recuda::vgpu {
namespace {

constexpr uint32_t kOne = 0x3f800000, kTwo = 0x40000000, kQuiet = 0x7fc00001, kTiny = 1;

// Bit of each of (1, 2), (2, 1), (1, 1), (NaN, 1) for which a comparison holds.
TEST(Select, ComparisonsOfFloats) {
    const std::pair<const char*, Mask> cases[] = {{"eq", 0b0100},  {"ne", 0b0011},  {"lt", 0b0001},  {"le", 0b0101},
                                                  {"gt", 0b0010},  {"ge", 0b0110},  {"equ", 0b1100}, {"neu", 0b1011},
                                                  {"ltu", 0b1001}, {"leu", 0b1101}, {"gtu", 0b1010}, {"geu", 0b1110},
                                                  {"num", 0b0111}, {"nan", 0b1000}};
    for (const auto& [name, expected] : cases) {
        OpsMachine m(".reg .b32 a, b; .reg .b64 x, y; .reg .b16 h, k, i, j; .reg .pred p;");
        m.set<uint32_t>("a", {kOne, kTwo, kOne, kQuiet});
        m.set<uint32_t>("b", {kTwo, kOne, kOne, kOne});
        m.set<double>("x", {1, 2, 1, NAN});
        m.set<double>("y", {2, 1, 1, 1});
        m.set<uint16_t>("h", {0x3c00, 0x4000, 0x3c00, 0x7e00});
        m.set<uint16_t>("k", {0x4000, 0x3c00, 0x3c00, 0x3c00});
        m.set<uint16_t>("i", {0x3f80, 0x4000, 0x3f80, 0x7fc0});
        m.set<uint16_t>("j", {0x4000, 0x3f80, 0x3f80, 0x3f80});
        for (const char* form :
             {".f32 p, a, b;", ".f64 p, x, y;", ".f16 p, h, k;", ".bf16 p, i, j;", ".ftz.f32 p, a, b;"}) {
            m.run(std::string("setp.") + name + form);
            EXPECT_EQ(m.mask("p") & 0xf, expected) << name << form;
        }
    }
}

TEST(Select, ComparisonsOfIntegers) {
    const std::tuple<const char*, Mask> cases[] = {{"lt.s32", 0b0011}, {"lt.u32", 0b0001}, {"lo.u32", 0b0001},
                                                   {"ls.u32", 0b0101}, {"hi.u32", 0b1010}, {"hs.u32", 0b1110},
                                                   {"ge.s32", 0b1100}, {"eq.b32", 0b0100}, {"ne.s32", 0b1011},
                                                   {"gt.u32", 0b1010}, {"le.s32", 0b0111}};
    for (const auto& [name, expected] : cases) {
        OpsMachine m(".reg .b32 a, b; .reg .pred p;");
        m.set<uint32_t>("a", {1, 0xffffffff, 5, 3});
        m.set<uint32_t>("b", {2, 1, 5, 0});
        m.run(std::string("setp.") + name + " p, a, b;");
        EXPECT_EQ(m.mask("p") & 0xf, expected) << name;
    }
    OpsMachine m(".reg .b64 a, b; .reg .b16 h; .reg .pred p;");
    m.set<uint64_t>("a", {0x8000000000000000, 1});
    m.set<uint64_t>("b", {1, 0x100000000});
    m.run("setp.lt.s64 p, a, b;");
    EXPECT_EQ(m.mask("p") & 3, 3u);
    m.run("setp.lt.u64 p, a, b;");
    EXPECT_EQ(m.mask("p") & 3, 2u);
    m.set<uint16_t>("h", {0xffff, 1});
    m.run("setp.lt.s16 p, h, 0;");
    EXPECT_EQ(m.mask("p") & 3, 1u);
    m.run("setp.gt.u16 p, h, 5;");
    EXPECT_EQ(m.mask("p") & 3, 1u);
}

TEST(Select, JoinedAndSecondPredicate) {
    OpsMachine m(".reg .b32 a; .reg .pred p, q, c;");
    m.set<uint32_t>("a", {0, 1, 0, 1});
    m.set_mask("c", 0b1100);
    const std::tuple<const char*, Mask, Mask> cases[] = {{"setp.eq.and.u32 p|q, a, 0, c;", 0b0100, 0b1000},
                                                         {"setp.eq.or.u32 p|q, a, 0, c;", 0b1101, 0b1110},
                                                         {"setp.eq.xor.u32 p|q, a, 0, c;", 0b1001, 0b0110},
                                                         {"setp.eq.and.u32 p|q, a, 0, !c;", 0b0001, 0b0010},
                                                         {"setp.eq.u32 p|q, a, 0;", 0b0101, 0b1010}};
    for (const auto& [statement, p, q] : cases) {
        m.run(statement, 0xf);
        EXPECT_EQ(m.mask("p"), p) << statement;
        EXPECT_EQ(m.mask("q"), q) << statement;
    }
    m.run("setp.ne.u32 _|q, a, 0;", 0b0011);
    EXPECT_EQ(m.mask("q"), 0b1001u);
}

TEST(Select, FlushedAndPackedComparisons) {
    OpsMachine m(".reg .b32 a, b; .reg .pred p, q;");
    m.set<uint32_t>("a", {kTiny});
    m.set<uint32_t>("b", {0});
    m.run("setp.gt.f32 p, a, b; setp.gt.ftz.f32 q, a, b;");
    EXPECT_EQ(m.mask("p"), kFullMask);
    EXPECT_EQ(m.mask("q"), 0u);
    m.set<uint32_t>("a", {0x3c000001});
    m.set<uint32_t>("b", {0x40000000});
    m.run("setp.lt.f16x2 p|q, a, b;");
    EXPECT_EQ(m.mask("p"), 0u);
    EXPECT_EQ(m.mask("q"), kFullMask);
    m.run("setp.eq.ftz.f16x2 p|q, a, b;");
    EXPECT_EQ(m.mask("p"), kFullMask);
}

TEST(Select, SetWritesTruth) {
    check<uint32_t, uint32_t, uint32_t, uint32_t>({
        {"set.lt.u32.s32 d, a, b;", 0xffffffff, 1, 0, 0xffffffff},
        {"set.lt.u32.u32 d, a, b;", 0xffffffff, 1, 0, 0},
        {"set.le.f32.f32 d, a, b;", kOne, kTwo, 0, kOne},
        {"set.geu.f32.f32 d, a, b;", kQuiet, kTwo, 0, kOne},
        {"set.gt.f16x2.f16x2 d, a, b;", 0x40003c00, 0x3c004000, 0, 0x3c000000},
        {"set.gt.bf16x2.bf16x2 d, a, b;", 0x40003f80, 0x3f803f80, 0, 0x3f800000},
        {"set.lt.u32.bf16x2 d, a, b;", 0x3f803f80, 0x3f804000, 0, 0x0000ffff},
    });
    check<uint16_t, uint16_t, uint16_t, uint16_t>({
        {"set.lt.f16.f16 d, a, b;", 0x3c00, 0x4000, 0, 0x3c00},
        {"set.lt.bf16.bf16 d, a, b;", 0x3f80, 0x4000, 0, 0x3f80},
    });
    OpsMachine m = machine_of(32, 32, 32, 32);
    m.set_mask("p", 1);
    m.set<uint32_t>("a", {1});
    m.run("set.eq.and.u32.u32 d, a, 1, !p;");
    EXPECT_EQ(m.get<uint32_t>("d", 0), 0u);
    EXPECT_EQ(m.get<uint32_t>("d", 1), 0xffffffffu);
}

TEST(Select, ByPredicateAndBySign) {
    OpsMachine m(".reg .b32 a, d; .reg .b64 x; .reg .b16 h; .reg .pred p;");
    m.set_mask("p", 0x5);
    m.set<uint32_t>("a", {7});
    m.run("selp.b32 d, a, 3, p; selp.f64 x, 1.0, 2.0, p; selp.u16 h, 1, 2, p;", 0x3);
    EXPECT_EQ(m.get<uint32_t>("d", 0), 7u);
    EXPECT_EQ(m.get<uint32_t>("d", 1), 3u);
    EXPECT_EQ(m.get<double>("x", 1), 2.0);
    EXPECT_EQ(m.get<uint16_t>("h", 0), 1);
    EXPECT_EQ(m.get<uint32_t>("d", 2), 0u);
    check<uint32_t, uint32_t, uint32_t, uint32_t>({
        {"slct.u32.s32 d, a, b, c;", 1, 2, 0, 1},
        {"slct.u32.s32 d, a, b, c;", 1, 2, 0x80000000, 2},
        {"slct.f32.f32 d, a, b, c;", 1, 2, 0x80000000, 1},
        {"slct.f32.f32 d, a, b, c;", 1, 2, kQuiet, 2},
        {"slct.f32.f32 d, a, b, c;", 1, 2, 0x80000001, 2},
        {"slct.ftz.f32.f32 d, a, b, c;", 1, 2, 0x80000001, 1},
    });
}

}  // namespace
}  // namespace recuda::vgpu
