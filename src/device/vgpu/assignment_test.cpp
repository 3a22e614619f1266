// Registers that are read before they are written: by bytes, through packing, packed arithmetic, shuffles and choices.
#include <gtest/gtest.h>

#include "device/vgpu/fixture.h"

namespace recuda::vgpu {
namespace {

/// h1 and r1 hold the lane's number, f1 is 1, p1 is true in lanes below 16; h9, r9, f9 and rd9 are never written. What
/// `body` leaves in h2 is stored.
std::string kernel(const std::string& body) {
    return ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 y) {\n"
           ".reg .pred %p<4>;\n.reg .b16 %h<10>;\n.reg .b32 %r<10>;\n.reg .f32 %f<10>;\n.reg .b64 %rd<10>;\n"
           "ld.param.u64 %rd1, [y];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 2;\nadd.u64 %rd3, %rd1, %rd2;\n"
           "cvt.u16.u32 %h1, %r1;\nmov.f32 %f1, 0f3F800000;\nsetp.lt.u32 %p1, %r1, 16;\nmov.u16 %h2, 0;\n" +
           body + "\nst.global.b16 [%rd3], %h2;\nret;\n}\n";
}

constexpr uint32_t kFirstLine = 18;  // of a body

struct Case {
    friend void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }
    const char* name;
    const char* body;
    uint32_t line = 0;  // of the body, from 1, that is reported; 0: nothing is
    uint32_t count = 32;
};

class Undefined : public testing::TestWithParam<Case> {};

TEST_P(Undefined, IsReportedWhereItIsUsed) {
    const Case& one = GetParam();
    Machine machine(kernel(one.body), "k.ptx", {.seed = 3, .threads = 1});
    machine.unwritten("y", 64);
    const Execution done = machine.run("k", {1}, {32}, {machine.at("y")});
    if (one.line == 0) {
        EXPECT_EQ(done.outcome, Outcome::correct) << shown(done);
        return;
    }
    ASSERT_EQ(done.reports.size(), 1u) << shown(done);
    EXPECT_EQ(done.reports[0].check, Check::uninitialised) << shown(done);
    EXPECT_EQ(done.reports[0].line, kFirstLine + one.line - 1) << shown(done);
    EXPECT_EQ(done.reports[0].count, one.count) << shown(done);
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, Undefined,
    testing::Values(
        // As Triton adds halves: the upper ones are never written, computed all the same, and dropped.
        Case{"half_dropped", "mov.b32 %r2, {%h1, %h9};\nadd.bf16x2 %r3, %r2, %r2;\nmov.b32 {%h2, _}, %r3;"},
        Case{"half_used", "mov.b32 %r2, {%h1, %h9};\nadd.bf16x2 %r3, %r2, %r2;\nmov.b32 {_, %h2}, %r3;", 2},
        Case{"half_stored", "mov.b32 %r2, {%h1, %h9};\nst.global.b32 [%rd1], %r2;", 2},
        Case{"low_half_stored", "mov.b32 %r2, {%h1, %h9};\nst.global.b16 [%rd3], %r2;"},
        Case{"fused", "mov.b32 %r2, {%h9, %h1};\nfma.rn.f16x2 %r3, %r2, %r2, %r2;\nmov.b32 {_, %h2}, %r3;"},
        Case{"fused_used", "mov.b32 %r2, {%h9, %h1};\nfma.rn.f16x2 %r3, %r2, %r2, %r2;\nmov.b32 {%h2, _}, %r3;", 2},
        Case{"four_parts", "mov.b64 %rd4, {%h1, %h9, %h1, %h9};\nmov.b64 {_, _, %h2, _}, %rd4;"},
        Case{"fourth_part", "mov.b64 %rd4, {%h1, %h1, %h1, %h9};\nmov.b64 {_, _, _, %h2}, %rd4;", 3},
        Case{"whole_scalar", "mov.b32 %r2, {%h1, %h9};\nadd.u32 %r3, %r2, 1;\ncvt.u16.u32 %h2, %r3;", 2},
        Case{"narrowed", "mov.b32 %r2, {%h1, %h9};\ncvt.u16.u32 %h2, %r2;"},
        Case{"shifted_down", "mov.b32 %r2, {%h9, %h1};\nshr.u32 %r3, %r2, 16;\ncvt.u16.u32 %h2, %r3;"},
        Case{"shifted_up", "mov.b32 %r2, {%h9, %h1};\nshl.b32 %r3, %r2, 16;\ncvt.u16.u32 %h2, %r3;"},
        Case{"shifted_in", "mov.b32 %r2, {%h1, %h9};\nshr.u32 %r3, %r2, 15;\ncvt.u16.u32 %h2, %r3;", 2},
        Case{"masked",
             "mov.b32 %r2, {%h1, %h9};\nand.b32 %r3, %r2, 65535;\nadd.u32 %r3, %r3, 1;\ncvt.u16.u32 %h2, %r3;"},
        Case{"masked_wrongly",
             "mov.b32 %r2, {%h1, %h9};\nand.b32 %r3, %r2, 131071;\nadd.u32 %r3, %r3, 1;\ncvt.u16.u32 %h2, %r3;", 2},
        Case{"by_bits",
             "mov.b32 %r2, {%h1, %h9};\nxor.b32 %r3, %r2, %r1;\nor.b32 %r3, %r3, %r2;\nnot.b32 %r3, %r3;\nmov.b32 "
             "{%h2, _}, %r3;"},
        Case{"permuted",
             "mov.b32 %r2, {%h1, %h9};\nprmt.b32 %r3, %r2, %r1, 0x5410;\nadd.u32 %r3, %r3, 1;\ncvt.u16.u32 %h2, %r3;"},
        Case{"permuted_wrongly", "mov.b32 %r2, {%h1, %h9};\nprmt.b32 %r3, %r2, %r1, 0x5432;\ncvt.u16.u32 %h2, %r3;", 2},
        Case{"a_byte",
             "mov.b32 %r2, {%h1, %h9};\nbfe.u32 %r3, %r2, 8, 8;\nadd.u32 %r3, %r3, 1;\ncvt.u16.u32 %h2, %r3;"},
        Case{"a_field", "bfi.b32 %r2, %r1, %r9, 0, 16;\nmov.b32 {%h2, _}, %r2;"},
        Case{"beside_a_field", "bfi.b32 %r2, %r1, %r9, 0, 16;\nmov.b32 {_, %h2}, %r2;", 1},
        Case{"converted_to_halves", "cvt.rn.bf16x2.f32 %r2, %f9, %f1;\nmov.b32 {%h2, _}, %r2;"},
        Case{"upper_is_the_first", "cvt.rn.bf16x2.f32 %r2, %f9, %f1;\nmov.b32 {_, %h2}, %r2;", 1},
        Case{"compared", "mov.b32 %r2, {%h1, %h9};\nsetp.gt.f16x2 %p2|%p3, %r2, %r2;\n@%p2 mov.u16 %h2, 1;"},
        Case{"compared_used",
             "mov.b32 %r2, {%h1, %h9};\nsetp.gt.f16x2 %p2|%p3, %r2, %r2;\n@%p3 mov.u16 %h2, 1;\n@!%p3 mov.u16 %h2, 2;",
             2},
        Case{"chosen", "selp.b16 %h2, %h9, %h1, %p1;", 1, 16},
        Case{"not_chosen", "selp.b16 %h3, %h9, %h1, %p1;\nselp.b16 %h2, %h1, %h3, %p1;"},
        Case{"choosing", "mov.b32 %r2, {%h1, %h9};\nsetp.gt.f16x2 %p2|%p3, %r2, %r2;\nselp.b16 %h2, 1, 2, %p3;", 2},
        Case{"shuffled_half",
             "mov.b32 %r2, {%h1, %h9};\nshfl.sync.bfly.b32 %r3, %r2, 1, 31, -1;\nadd.f16x2 %r3, %r3, %r2;\nmov.b32 "
             "{%h2, _}, %r3;"},
        Case{"shuffled", "shfl.sync.bfly.b32 %r3, %r9, 1, 31, -1;\ncvt.u16.u32 %h2, %r3;", 1},
        Case{
            "from_other_lanes",
            "mov.u32 %r3, %r9;\n@%p1 mov.u32 %r3, %r1;\nshfl.sync.idx.b32 %r4, %r3, 3, 31, -1;\ncvt.u16.u32 %h2, %r4;"},
        Case{"from_undefined_lanes",
             "mov.u32 %r3, %r9;\n@%p1 mov.u32 %r3, %r1;\nshfl.sync.bfly.b32 %r4, %r3, 16, 31, -1;\ncvt.u16.u32 %h2, "
             "%r4;",
             3, 16},
        Case{"which_lane", "shfl.sync.idx.b32 %r4, %r1, %r9, 31, -1;\ncvt.u16.u32 %h2, %r4;", 1},
        Case{"an_address", "ld.global.b16 %h2, [%rd9];", 1},
        Case{"written_after_all", "@%p1 mov.u16 %h9, 1;\n@%p1 mov.u16 %h2, %h9;"},
        // Registers that nobody wrote are 0: a guard decides where it is false too.
        Case{"false_guard", "@%p2 mov.u16 %h2, 1;", 1}, Case{"true_guard", "@!%p2 mov.u16 %h2, 1;", 1},
        Case{"false_branch", "setp.ne.u32 %p2, %r9, 0;\n@%p2 bra END;\nmov.u16 %h2, 1;\nEND:", 1},
        Case{"partly_set_guard", "@%p1 setp.eq.u32 %p2, %r1, 0;\n@%p2 mov.u16 %h2, 1;", 2, 16},
        // a && b, a || b: one operand may settle it.
        Case{"false_and", "setp.gt.u32 %p3, %r1, 99;\nand.pred %p3, %p3, %p2;\n@%p3 mov.u16 %h2, 1;"},
        Case{"and_false", "setp.gt.u32 %p3, %r1, 99;\nand.pred %p3, %p2, %p3;\n@!%p3 mov.u16 %h2, 1;"},
        Case{"half_of_an_and", "and.pred %p3, %p1, %p2;\n@%p3 mov.u16 %h2, 1;", 1, 16},
        Case{"half_of_an_or", "or.pred %p3, %p2, %p1;\n@%p3 mov.u16 %h2, 1;", 1, 16},
        Case{"true_or", "setp.lt.u32 %p3, %r1, 99;\nor.pred %p3, %p2, %p3;\n@%p3 mov.u16 %h2, 1;"},
        Case{"both_undefined", "and.pred %p3, %p2, %p2;\n@%p3 mov.u16 %h2, 1;", 1},
        Case{"joined_false", "setp.gt.u32 %p3, %r1, 99;\nsetp.eq.and.u32 %p3, %r9, 3, %p3;\n@%p3 mov.u16 %h2, 1;"},
        Case{"joined_true", "setp.lt.u32 %p3, %r1, 99;\nsetp.eq.and.u32 %p3, %r9, 3, %p3;\n@%p3 mov.u16 %h2, 1;", 2},
        Case{"joined_or", "setp.lt.u32 %p3, %r1, 99;\nsetp.eq.or.u32 %p3|%p2, 3, %r9, %p3;\n@%p2 mov.u16 %h2, 1;"},
        Case{"joined_with_undefined",
             "setp.gt.u32 %p3, %r1, 99;\nsetp.eq.or.u32 %p3, %r1, 3, %p2;\n@%p3 mov.u16 %h2, 1;", 2},
        Case{"exclusive_or", "xor.pred %p3, %p1, %p2;\n@%p3 mov.u16 %h2, 1;", 1},
        Case{"guarded_half", "@%p1 setp.eq.u32 %p2, %r1, 0;\nand.pred %p3, %p1, %p2;\n@%p3 mov.u16 %h2, 1;"},
        Case{"zeros_and", "mov.u16 %h3, 0;\nand.b16 %h2, %h3, %h9;"},
        Case{"ones_or", "mov.b16 %h3, 0xff00;\nor.b16 %h4, %h9, %h3;\nshr.u16 %h2, %h4, 8;"},
        Case{"ones_or_below", "mov.b16 %h3, 0xff00;\nor.b16 %h2, %h9, %h3;", 2}),
    [](const testing::TestParamInfo<Case>& info) { return info.param.name; });

}  // namespace
}  // namespace recuda::vgpu
