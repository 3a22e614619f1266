#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>

#include "base/error.h"
#include "device/vgpu/ptx/ptx.h"

namespace recuda::vgpu::ptx {
namespace {

using Kind = Operand::Kind;

// From testdata/inlined.cu with NVRTC 13.0 (-lineinfo, compute_90) and from testdata/softmax.py with Triton 3.6.
std::string fixture(const std::string& name) {
    std::ifstream file(std::string(RECUDA_SOURCE_DIR) + "/src/device/vgpu/ptx/testdata/" + name);
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_FALSE(text.str().empty()) << name;
    return text.str();
}

Module parse_module(const std::string& rest) {
    return parse(".version 9.0\n.target sm_90a\n.address_size 64\n" + rest);
}

// The body's lines begin at line 5 of the module.
Module parse_body(const std::string& body) {
    return parse_module(".visible .entry k(.param .u64 out)\n{" + body + "\n}\n");
}

const Statement& only(const Module& module) {
    EXPECT_EQ(module.functions.at(0).body.size(), 1u);
    return module.functions.at(0).body.at(0);
}

const Statement& find(const Function& function, std::string_view text) {
    const auto found =
        std::find_if(function.body.begin(), function.body.end(), [&](const Statement& s) { return s.text() == text; });
    EXPECT_NE(found, function.body.end()) << text;
    return *found;
}

std::string error_of(const std::string& text) {
    try {
        parse(text);
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

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

std::vector<uint8_t> bytes(std::initializer_list<int> values) { return {values.begin(), values.end()}; }

TEST(Parser, VariablesAndInitialisers) {
    const Module module = parse_module(R"(
        .const .align 8 .f64 scales[2] = { 0d3FB999999999999A, 1.5 };
        .const .b8 letters[6] = { 65, 0x42, 0103, 0b1000100, 69 };
        .global .align 4 .u16 matrix[2][3] = { {1, 2}, {4, 5, -1} };
        .global .u64 where = generic(matrix) + 4;
        .global .u64 offsets[] = { matrix + 8, generic(where), 7 };
        .global .b8 split[2] = { 0xff(matrix), 0xff00(matrix) };
        .global .v4 .f32 four = { 1, 0f40000000, 3.0, 4.0 };
        .extern .shared .align 16 .b8 dynamic[];
        .shared .b32 a, b[4];
        .global .texref picture;
        .visible .global .attribute(.unified(1, 2)) .align 2 .s16 small = -300;)");
    const auto& v = module.variables;
    EXPECT_EQ(v[0].initial, bytes({0x9a, 0x99, 0x99, 0x99, 0x99, 0x99, 0xb9, 0x3f, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f}));
    EXPECT_EQ(v[1].initial, bytes({65, 66, 67, 68, 69}));
    EXPECT_EQ(v[1].size(), 6u);
    EXPECT_EQ(v[2].initial, bytes({1, 0, 2, 0, 0, 0, 4, 0, 5, 0, 0xff, 0xff}));
    ASSERT_EQ(v[3].relocations.size(), 1u);
    EXPECT_EQ(v[3].relocations[0].symbol, "matrix");
    EXPECT_EQ(v[3].relocations[0].addend, 4);
    EXPECT_TRUE(v[3].relocations[0].generic);
    EXPECT_EQ(v[4].extents, std::vector<uint64_t>{3});
    EXPECT_EQ(v[4].relocations.at(0).addend, 8);
    EXPECT_FALSE(v[4].relocations.at(0).generic);
    EXPECT_EQ(v[4].relocations.at(1).at, 8u);
    EXPECT_EQ(v[4].initial[16], 7);
    EXPECT_EQ(v[5].relocations.at(1).mask, 0xff00u);
    EXPECT_EQ(v[5].relocations.at(1).at, 1u);
    EXPECT_EQ(v[6].size(), 16u);
    EXPECT_EQ(v[6].align, 16u);
    EXPECT_EQ(v[6].initial, bytes({0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40, 0, 0, 0x80, 0x40}));
    EXPECT_TRUE(v[7].is_extern);
    EXPECT_EQ(v[7].extents, std::vector<uint64_t>{0});
    EXPECT_EQ(v[7].size(), 0u);
    EXPECT_EQ(v[9].size(), 16u);
    EXPECT_EQ(v[10].size(), 8u);
    EXPECT_EQ(v[11].initial, bytes({0xd4, 0xfe}));
}

TEST(Parser, SectionsAreSkipped) {
    const Module module = parse_module(".section .debug_str { $L__s: .b8 \"a } b\" 0 // }\n }\n.global .u32 x;");
    EXPECT_EQ(module.variables.at(0).name, "x");
}

TEST(SourceLines, NvrtcWithChainsOfInlining) {
    const Module module = parse(fixture("nvrtc_inlined.ptx"), "inlined.cu");
    const Function& kernel = *module.find("_Z6kernelILi32EEvPKfP14__nv_bfloat162P6__halfi");
    // load() inside twice() inside the kernel's line 29.
    EXPECT_EQ(find(kernel, "ld.global.nc.f32").place.source_line, 29u);
    EXPECT_EQ(find(kernel, "ld.global.nc.f32").place.source_file, "/kernels/inlined.cu");
    EXPECT_EQ(find(kernel, "bar.sync").place.source_line, 30u);
    EXPECT_EQ(find(kernel, "trap").place.source_line, 37u);
    // __floats2bfloat162_rn of cuda_bf16.h
    EXPECT_EQ(find(kernel, "cvt.rn.bf16x2.f32").place.source_line, 35u);
    EXPECT_EQ(find(*module.find("_Z4slowfi"), "sin.approx.f32").place.source_line, 19u);
}

TEST(SourceLines, TritonSaysItInComments) {
    const Module module = parse(fixture("triton_softmax.ptx"), "softmax.py");
    const Function& kernel = *module.find("softmax");
    // tl.max inside helper() inside outer(), called at line 20.
    EXPECT_EQ(find(kernel, "max.f32").place.source_line, 20u);
    EXPECT_EQ(find(kernel, "ex2.approx.f32").place.source_line, 20u);
    EXPECT_EQ(find(kernel, "ld.global.b16").place.source_line, 19u);
    EXPECT_EQ(find(kernel, "st.global.b16").place.source_line, 21u);
}

TEST(SourceLines, TheUsersFileIsTheOneNamed) {
    const std::string text =
        ".version 9.0\n.target sm_90\n.address_size 64\n.func f() {\n"
        ".loc 1 3 1\n.loc 1 9 1, function_name $a, inlined_at 2 40 7\n"
        "add.u32 a, a, a;\n.loc 2 41 3\nsub.u32 a, a, a;\n.loc 2 0 3\nmin.u32 a, a, a;\n.loc 1 5 1\nmul.u32 a, a, "
        "a;\n}\n"
        ".file 1 \"/include/header.h\"\n.file 2 \"/home/user/kernel.cu\"\n";
    const Module module = parse(text, "kernel.cu");
    const auto& body = module.functions[0].body;
    EXPECT_EQ(body[0].place.source_line, 40u);
    EXPECT_EQ(body[1].place.source_line, 41u);
    EXPECT_EQ(body[2].place.source_line, 41u);  // line 0 stays with the line before
    EXPECT_EQ(body[3].place.source_line, 0u);   // of the header alone
    EXPECT_EQ(parse(text).functions[0].body[3].place.source_line, 5u);
}

TEST(Parser, ErrorsSayTheLine) {
    const std::string head = ".version 9.0\n.target sm_90\n";
    const std::pair<std::string, const char*> cases[] = {
        {"", "ptx line 1: a module begins with .version"},
        {"int main() { return 0; }", "ptx line 1: a module begins with .version"},
        {".version x", "ptx line 1: expected a version"},
        {head + "hello", "ptx line 3: expected a directive, not 'h'"},
        {head + ".frob x;", "ptx line 3: '.frob' in a module"},
        {head + ".entry k {", "ptx line 3: '{' without its '}' in k"},
        {head + ".entry k {\n add.s32 %r1, ;\n}", "ptx line 4: expected an operand, not ';'"},
        {head + ".entry k {\n add.s32 %r1, %r2\n}", "ptx line 5: expected ';', not '}'"},
        {head + ".entry k { mov.u32 a, 0f12; }", "ptx line 3: a float in hexadecimal has 8 digits here"},
        {head + ".entry k { mov.u32 a, 1/0; }", "ptx line 3: a division by zero"},
        {head + ".entry k { mov.u32 a, 12ab; }", "ptx line 3: 'a' in a number"},
        {head + ".entry k { x: x: ret; }", "ptx line 3: a second label 'x'"},
        {head + ".entry k { ret; }\n.entry k { ret; }", "ptx line 4: a second function 'k'"},
        {head + ".global .b8 x[2] = {1, 2, 3};", "ptx line 3: more values than elements"},
        {head + ".global .b8 x[2] = {{1}, 2};", "ptx line 3: an initialiser of more dimensions than its variable"},
        {head + ".global .b8 x[99999999999][99999999999];", "ptx line 3: 'x' is too large"},
        {head + ".global .b8 x[2][9999999999] = {{1}, {2}};", "ptx line 3: an initialiser of more than 67108864 bytes"},
        {head + ".global .align 3 .b8 x;", "ptx line 3: an alignment of 3"},
        {head + "/* no end", "ptx line 3: a comment that does not end"},
        {head + ".entry k { .reg .b32 %r<99999999>; }", "ptx line 3: 99999999 registers"},
    };
    for (const auto& [text, message] : cases) EXPECT_EQ(error_of(text), message) << text;
}

std::string repeated(const std::string& text, size_t times) {
    std::string result;
    for (size_t i = 0; i < times; ++i) result += text;
    return result;
}

// Each of these would overflow the stack or take minutes in a careless parser.
TEST(Parser, HostileTextIsCheap) {
    const std::string head = ".version 9.0\n.target sm_90\n.entry k {\n";
    constexpr size_t kMany = 200000;
    EXPECT_NE(error_of(head + "mov.u32 a, " + repeated("(", kMany)), "no error");
    EXPECT_NE(error_of(head + "mov.u32 a, " + repeated("-", kMany) + "1;"), "no error");
    EXPECT_NE(error_of(head + "mov.u32 a, 1" + repeated("?1:1", kMany) + ";"), "no error");
    EXPECT_NE(error_of(head + "mov.u32 a, " + repeated("[a,", kMany)), "no error");
    EXPECT_NE(error_of(head + "mov.u32 a, " + repeated("{", kMany)), "no error");
    EXPECT_NE(error_of(head + repeated("{", kMany)), "no error");
    EXPECT_NE(error_of(head + repeated(".loc 1 2 3, inlined_at 1 2 3 ", kMany)), "no error");
    EXPECT_NE(error_of(".version 9.0\n.entry k " + repeated(".ptr ", kMany)), "no error");
    EXPECT_EQ(error_of(head + "mov.u32 a, 1" + repeated("+1", kMany) + ";}"), "no error");
    EXPECT_EQ(error_of(head + repeated("{ .reg .b32 a; mov.b32 a, b; }", kMany) + "}"), "no error");
}

// Ready for a fuzzer: whatever happens to real PTX, the parser returns or throws Error.
TEST(Parser, MutationsOnlyThrowError) {
    std::mt19937 random(7);
    constexpr std::string_view kBytes =
        "{}[]()<>;:,.@!|+-*/%\"0x9f \n\0\xff"
        "ab_$";
    for (const char* name : {"nvrtc_inlined.ptx", "triton_softmax.ptx"}) {
        const std::string original = fixture(name);
        for (int round = 0; round < 400; ++round) {
            std::string text = original;
            for (uint32_t change = random() % 8 + 1; change > 0; --change) {
                const size_t at = random() % text.size(), length = random() % 20;
                switch (random() % 4) {
                    case 0:
                        text[at] = kBytes[random() % kBytes.size()];
                        break;
                    case 1:
                        text.erase(at, length);
                        break;
                    case 2:
                        text.insert(at, original.substr(random() % original.size(), length));
                        break;
                    default:
                        text.insert(at, 1, kBytes[random() % kBytes.size()]);
                }
            }
            try {
                parse(text, "inlined.cu");
            } catch (const Error&) {
            }
        }
    }
}

}  // namespace
}  // namespace recuda::vgpu::ptx
