#include "device/vgpu/ptx/test_support.h"

namespace recuda::vgpu::ptx {
namespace {

TEST(Parser, HeaderOfAModule) {
    const Module module = parse(".version 8.10\n.target sm_100a, debug\n.address_size 64\n");
    EXPECT_EQ(module.version_major, 8u);
    EXPECT_EQ(module.version_minor, 10u);
    EXPECT_EQ(module.target, "sm_100a");
}

TEST(Parser, StatementsKeepPartsGuardAndLine) {
    const Module module =
        parse_body("\n  @!%p1 /* a\n comment */ ld.global.L2::128B.v4.u32 {%r1, %r2, _, %r3}, [%rd1+-16]; // end");
    const Statement& s = only(module);
    EXPECT_EQ(s.text(), "ld.global.L2::128B.v4.u32");
    EXPECT_EQ(s.opcode(), "ld");
    EXPECT_TRUE(s.has("L2::128B"));
    EXPECT_FALSE(s.has("ld"));
    EXPECT_EQ(s.place.line, 7u);
    EXPECT_EQ(s.guard.text, "%p1");
    EXPECT_TRUE(s.guard.negated);
    ASSERT_EQ(s.operands.size(), 2u);
    EXPECT_EQ(s.operands[0].kind, Kind::vector);
    EXPECT_EQ(s.operands[0].elements.at(1).text, "%r2");
    EXPECT_EQ(s.operands[0].elements.at(2).kind, Kind::sink);
    EXPECT_EQ(s.operands[1].kind, Kind::address);
    EXPECT_EQ(s.operands[1].text, "%rd1");
    EXPECT_EQ(s.operands[1].offset, -16);
}

TEST(Parser, OpcodesMayHaveSpacesBeforeModifiersAndNobodyNeedsToKnowThem) {
    EXPECT_EQ(only(parse_body("add .s32 %r1, %r2, %r3;")).text(), "add.s32");
    EXPECT_EQ(only(parse_body("frobnicate.async.m64::x2.f4 [%r1], {%r2}, %r3|%p1, 0;")).text(),
              "frobnicate.async.m64::x2.f4");
}

TEST(Parser, IntegerOperands) {
    const std::pair<const char*, uint64_t> cases[] = {
        {"0", 0},
        {"42", 42},
        {"-42", static_cast<uint64_t>(-42)},
        {"0x7fU", 127},
        {"0XFF", 255},
        {"0b1011", 11},
        {"0103", 67},
        {"4294967295U", 4294967295u},
        {"18446744073709551615", ~uint64_t{0}},
        {"0xFFFFFFFFFFFFFFFF", ~uint64_t{0}},
        {"(8 * 8)", 64},
        {"((0x10 << 2) | 3) ^ (7 > 5 ? 0xF0 : 0)", 179},
        {"-(1 << 3) + 0xFFFFFFFFF", 0xFFFFFFFFFu - 8},
        {"WARP_SZ", 32},
        {"(WARP_SZ - 1)", 31},
        {"~0", ~uint64_t{0}},
        {"!0", 1},
        {"-7 / 2", static_cast<uint64_t>(-3)},
        {"-7 % 4", static_cast<uint64_t>(-3)},
        {"-1 > 0", 0},
        {"(.u64)-1 > 0", 1},
        {"1 + 2 * 3 - 4", 3},
        {"2 == 2 && 3 != 3 || 1 <= 0", 0},
        {"0x8000000000000000 >> 63", 1},
        {"-8 >> 1", static_cast<uint64_t>(-4)},
        {"6 & 3 | 8", 10},
    };
    for (const auto& [text, value] : cases) {
        const Module module = parse_body(std::string("mov.u64 %rd1, ") + text + ";");
        const Operand& operand = only(module).operands.at(1);
        EXPECT_EQ(operand.kind, Kind::integer) << text;
        EXPECT_EQ(operand.bits, value) << text;
    }
}

TEST(Parser, FloatOperands) {
    const std::tuple<const char*, bool, uint64_t> cases[] = {
        {"0f3F800000", false, 0x3f800000},    {"0F3f800000", false, 0x3f800000},
        {"-0f3F800000", false, 0xbf800000},   {"0d4000000000000000", true, 0x4000000000000000},
        {"0.25", true, 0x3fd0000000000000},   {"-1.5", true, 0xbff8000000000000},
        {"-2.0e3", true, 0xc09f400000000000}, {"1.", true, 0x3ff0000000000000},
        {"2e1", true, 0x4034000000000000},    {"(1.5 + 1) * 2", true, 0x4014000000000000},
    };
    for (const auto& [text, is_double, bits] : cases) {
        const Module module = parse_body(std::string("mov.f64 %fd1, ") + text + ";");
        const Operand& operand = only(module).operands.at(1);
        EXPECT_EQ(operand.kind, Kind::floating) << text;
        EXPECT_EQ(operand.is_double, is_double) << text;
        EXPECT_EQ(operand.bits, bits) << text;
    }
}

TEST(Parser, OperandForms) {
    const Module module = parse_body(R"(
        setp.lt.and.s32 %p1|%p2, %r1, four.z, !%p3;
        shfl.sync.idx.b32 _|%p1, %r1, 0, 31, -1;
        mov.u64 %rd1, table+8;
        ld.u32 %r1, [ %rd1 + 4*2 ];
        st.u32 [0x100], %tid.x;
        cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd2, {%r3, 7}], [bar+8];
        call.uni (retval0), f, (a, 11), proto;
        call (p), g, ();
        ret;)");
    const auto& body = module.functions[0].body;
    EXPECT_EQ(body[0].operands[0].text, "%p1");
    EXPECT_EQ(body[0].operands[0].elements.at(0).text, "%p2");
    EXPECT_EQ(body[0].operands[2].text, "four.z");
    EXPECT_TRUE(body[0].operands[3].negated);
    EXPECT_EQ(body[1].operands[0].kind, Kind::sink);
    EXPECT_EQ(body[1].operands[0].elements.at(0).text, "%p1");
    EXPECT_EQ(body[2].operands[1].text, "table");
    EXPECT_EQ(body[2].operands[1].offset, 8);
    EXPECT_EQ(body[3].operands[1].offset, 8);
    EXPECT_EQ(body[4].operands[0].text, "");
    EXPECT_EQ(body[4].operands[0].offset, 0x100);
    EXPECT_EQ(body[4].operands[1].text, "%tid.x");
    EXPECT_EQ(body[5].parts.at(7), "mbarrier::complete_tx::bytes");
    EXPECT_EQ(body[5].operands[1].text, "%rd2");
    EXPECT_EQ(body[5].operands[1].elements.size(), 2u);
    EXPECT_EQ(body[5].operands[1].elements[1].bits, 7u);
    EXPECT_EQ(body[5].operands[2].text, "bar");
    ASSERT_EQ(body[6].operands.size(), 4u);
    EXPECT_EQ(body[6].operands[0].elements.at(0).text, "retval0");
    EXPECT_EQ(body[6].operands[2].elements.at(1).bits, 11u);
    EXPECT_TRUE(body[7].operands[2].elements.empty());
    EXPECT_TRUE(body[8].operands.empty());
}

TEST(Parser, NestedScopesGetNamesOfTheirOwn) {
    const Module module = parse_body(R"(
        .reg .b32 %r<8>, x;
        {
            .reg .b32 %r<2>;
            .reg .v2 .b32 pair;
            .shared .b8 board[4];
            mov.b32 %r1, %r2;
            { .reg .b16 x; cvt.u16.u32 x, %r0; DONE: @p bra DONE; bra LATER; }
            mov.b32 pair.y, x;
            st.shared.b32 [board+4], %r1;
            LATER: bra LATER;
        }
        { DONE: bra DONE; bra LATER; }
        LATER: ret;)");
    const Function& f = module.functions[0];
    EXPECT_EQ(f.body[0].operands[0].text, "%r@1_1");
    EXPECT_EQ(f.body[0].operands[1].text, "%r2");
    EXPECT_EQ(f.body[1].operands[0].text, "x@2");
    EXPECT_EQ(f.body[1].operands[1].text, "%r@1_0");
    EXPECT_EQ(f.body[2].operands[0].text, "DONE@2");
    EXPECT_EQ(f.body[3].operands[0].text, "LATER@1");
    EXPECT_EQ(f.body[4].operands[0].text, "pair@1.y");
    EXPECT_EQ(f.body[4].operands[1].text, "x");
    EXPECT_EQ(f.body[5].operands[0].text, "board@1");
    EXPECT_EQ(f.body[7].operands[0].text, "DONE@3");
    EXPECT_EQ(f.body[8].operands[0].text, "LATER");
    EXPECT_EQ(f.labels.at("LATER@1"), 6u);
    EXPECT_EQ(f.labels.at("LATER"), 9u);
    EXPECT_EQ(f.registers.at(2).prefix, "%r@1_");
    EXPECT_EQ(f.registers.at(2).count, 2u);
    EXPECT_EQ(f.variables.at(0).name, "board@1");
}

// Triton's conversions of e4m3 declare both.
TEST(Parser, ARegisterAndARangeShareAName) {
    const Module module = parse_body("{ .reg .b32 a; .reg .b16 a<2>; mov.b32 {a0, a1}, a; } ret;");
    const Statement& move = module.functions[0].body[0];
    EXPECT_EQ(move.operands[0].elements.at(1).text, "a@1_1");
    EXPECT_EQ(move.operands[1].text, "a@1");
}

TEST(Parser, LabelDirectives) {
    const Module module = parse_body(R"(
        targets: .branchtargets ONE, TWO, ONE;
        kind: .callprototype (.param .b32 _) _ (.param .b32 _, .param .align 8 .b8 _[16]);
        ONE: brx.idx %r1, targets;
        TWO:)");
    const Function& f = module.functions[0];
    EXPECT_EQ(f.branch_targets.at("targets"), (std::vector<std::string_view>{"ONE", "TWO", "ONE"}));
    EXPECT_EQ(f.labels.at("TWO"), 1u);
    ASSERT_EQ(f.prototypes.size(), 1u);
    EXPECT_EQ(f.prototypes[0].label, "kind");
    EXPECT_EQ(f.prototypes[0].returns.size(), 1u);
    EXPECT_EQ(f.prototypes[0].parameters.at(1).size(), 16u);
}

TEST(Parser, FunctionsAndTheirDirectives) {
    const Module module = parse_module(R"(
        .extern .func (.param .b32 func_retval0) vprintf
        (
            .param .b64 vprintf_param_0,
            .param .b64 vprintf_param_1
        )
        ;
        .func (.reg .u32 d) both (.reg .u32 x, .reg .u32 y);
        .visible .entry k(
            .param .u64 .ptr .global .align 1 k_param_0,
            .param .align 64 .b8 k_param_1[128]
        )
        .explicitcluster
        .reqnctapercluster 2, 1, 1
        .maxntid 256
        .reqntid 8, 4
        .minnctapersm 2
        .pragma "nounroll";
        { ret; }
        .func (.reg .u32 d) both (.reg .u32 x, .reg .u32 y) .noreturn { add.u32 d, x, y; ret; }
        .alias other, both;
        .weak .func nothing() { ret; })");
    ASSERT_EQ(module.functions.size(), 4u);
    const Function& k = *module.find("k");
    EXPECT_TRUE(k.is_entry);
    EXPECT_EQ(k.parameters.at(0).align, 8u);
    EXPECT_EQ(k.parameters.at(0).type, Type::u64);
    EXPECT_EQ(k.parameters.at(1).align, 64u);
    EXPECT_EQ(k.parameters.at(1).size(), 128u);
    EXPECT_EQ(k.required_cluster[0], 2u);
    EXPECT_EQ(k.max_threads[0], 256u);
    EXPECT_EQ(k.max_threads[2], 1u);
    EXPECT_EQ(k.required_threads[1], 4u);
    EXPECT_FALSE(module.find("vprintf")->has_body);
    EXPECT_EQ(module.find("vprintf")->parameters.size(), 2u);
    const Function& both = *module.find("other");
    EXPECT_TRUE(both.has_body);
    EXPECT_EQ(both.registers.size(), 3u);
    EXPECT_EQ(both.returns.at(0).space, Space::reg);
    EXPECT_EQ(module.find("absent"), nullptr);
}

}  // namespace
}  // namespace recuda::vgpu::ptx
