#include "device/vgpu/writes.h"

#include <gtest/gtest.h>

#include "device/vgpu/ptx/ptx.h"

namespace recuda::vgpu {
namespace {

struct Case {
    const char* name;
    const char* body;
    const char* written;  // parameters a, b, n that a store may reach
};

std::string written(const char* body) {
    const std::string text = std::string(R"(.version 8.7
.target sm_90
.address_size 64
.global .align 4 .u32 total;
.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)
{
.reg .pred %p<4>;
.reg .b32 %r<9>;
.reg .b64 %rd<9>;
.shared .align 4 .b8 tile[64];
ld.param.u64 %rd1, [a];
ld.param.u64 %rd2, [b];
ld.param.u32 %r1, [n];
mul.wide.u32 %rd3, %r1, 4;
)") + body + "ret;\n}\n";
    const ptx::Module module = ptx::parse(text, "k.ptx");
    const Writes writes = writes_of(module, *module.find("k"));
    std::string names;
    for (uint32_t i = 0; i < 2; ++i)
        if (writes.may_reach(i, 3)) names += i == 0 ? "a" : "b";
    return names;
}

TEST(Writes, FollowAddressesToTheirParameters) {
    const Case kCases[] = {
        {"nothing", "", ""},
        {"one", "add.s64 %rd4, %rd1, %rd3;\nst.global.u32 [%rd4+8], %r1;\n", "a"},
        {"after a loop", "LOOP:\nst.global.u32 [%rd5], %r1;\nmov.b64 %rd5, %rd6;\nadd.s64 %rd6, %rd2, 4;\nbra LOOP;\n",
         "b"},
        {"either", "setp.eq.u32 %p1, %r1, 0;\nselp.b64 %rd4, %rd1, %rd2, %p1;\nst.global.u32 [%rd4], %r1;\n", "ab"},
        {"read only", "ld.global.nc.u32 %r2, [%rd1];\nst.global.u32 [%rd2], %r2;\n", "b"},
        {"an index from memory",
         "ld.global.u32 %r2, [%rd1];\nmad.wide.u32 %rd4, %r2, 4, %rd2;\nst.global.u32 [%rd4], %r2;\n", "b"},
        {"an address from memory", "ld.global.u64 %rd4, [%rd1];\nst.global.u32 [%rd4], %r1;\n", "ab"},
        {"an address from nowhere", "mov.u64 %rd4, 4096;\nst.global.u32 [%rd4], %r1;\n", "ab"},
        {"two halves", "ld.global.v2.u32 {%r2, %r3}, [%rd1];\nmov.b64 %rd4, {%r2, %r3};\nst.global.u32 [%rd4], %r1;\n",
         "ab"},
        {"an atomic", "atom.global.add.u32 %r2, [%rd1], 1;\n", "a"},
        {"a reduction", "red.global.add.u32 [%rd2+4], 1;\n", "b"},
        {"a discard", "discard.global.L2 [%rd2], 128;\n", "b"},
        {"generic", "cvta.to.global.u64 %rd4, %rd1;\nst.u32 [%rd4], %r1;\n", "a"},
        {"shared memory", "mov.u32 %r2, tile;\nst.shared.u32 [%r2], %r1;\n", ""},
        {"generic shared memory", "mov.u64 %rd4, tile;\ncvta.shared.u64 %rd4, %rd4;\nst.u32 [%rd4], %r1;\n", ""},
        {"a variable of the module", "st.global.u32 [total], %r1;\n", ""},
        {"a bulk copy out", "mov.u32 %r2, tile;\ncp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 16;\n",
         "a"},
        {"a copy in", "mov.u32 %r2, tile;\ncp.async.ca.shared.global [%r2], [%rd1], 16;\n", ""},
    };
    for (const Case& one : kCases) EXPECT_EQ(written(one.body), one.written) << one.name;
}

}  // namespace
}  // namespace recuda::vgpu
