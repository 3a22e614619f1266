// Text that is not PTX, or that asks for too much.
#include <random>

#include "device/vgpu/ptx/test_support.h"

namespace recuda::vgpu::ptx {
namespace {

TEST(Parser, ErrorsSayTheLine) {
    const std::string head = ".version 9.0\n.target sm_90\n";
    const std::pair<std::string, const char*> cases[] = {
        {"", "ptx line 1: a module begins with .version"},
        {"int main() { return 0; }", "ptx line 1: a module begins with .version"},
        {".version x", "ptx line 1: expected a version"},
        {".version 99999.1\n.target sm_90", "ptx line 1: there is no version 99999.1"},
        {".version 9.0\n.entry k { ret; }", "ptx line 2: behind .version stands .target"},
        {".version 9.0\n.target foo", "ptx line 2: 'foo' is not a target"},
        {head + ".entry k { ret; }\n.target sm_90\n", "ptx line 4: '.target' in a module"},
        {head + ".entry k { ;; }", "ptx line 3: expected an instruction, not ';'"},
        {head + ".entry k { .reg .b32 q; .reg .b32 q; }", "ptx line 3: a second declaration of 'q'"},
        {head + ".entry k { .reg .b32 r<4>; .reg .b32 r<2>; }", "ptx line 3: a second declaration of 'r'"},
        {head + ".entry k { .reg .b32 r<4>; .reg .b32 r3; }", "ptx line 3: a second declaration of 'r3'"},
        {head + ".entry k(.param .b32 a) { .shared .b32 a; }", "ptx line 3: a second declaration of 'a'"},
        {head + ".global .b32 g;\n.global .b32 g;", "ptx line 4: a second declaration of 'g'"},
        {head + ".func g() { ret; }\n.global .b32 g;", "ptx line 4: a second declaration of 'g'"},
        {head + ".shared .b32 s = 5;", "ptx line 3: an initial value of 's', which is not in .global or .const"},
        {head + ".global .b32 g[];", "ptx line 3: 'g' has no size"},
        {head + ".global .v4 .b64 g;", "ptx line 3: a vector of more than 128 bits"},
        {head + ".entry k() .maxntid 0, 1, 1 { ret; }", "ptx line 3: a size of 0 in .maxntid"},
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
        {head + ".global .b64 x[4294967296][4294967296];", "ptx line 3: 'x' is too large"},  // 2^67 bytes
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
