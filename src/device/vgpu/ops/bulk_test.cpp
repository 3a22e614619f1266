// Forms of asynchronous copies that are unsupported, with their reasons, and what a copy may not be told. What runs is
// in tests/async, on either device.
#include <gmock/gmock.h>

#include <tuple>

#include "device/vgpu/fixture.h"

namespace recuda::vgpu {
namespace {

std::string kernel(const std::string& body) {
    return ".version 8.7\n.target sm_100a\n.address_size 64\n"
           ".visible .entry k(.param .u64 x)\n{\n"
           ".reg .pred %p<4>;\n.reg .b16 %h<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n"
           ".shared .align 128 .b8 tile[1024];\n.shared .align 8 .b64 full;\n"
           "ld.param.u64 %rd0, [x];\nmov.u32 %r0, tile;\nmov.u32 %r1, full;\nmov.u32 %r2, 0;\nmov.u16 %h0, 1;\n"
           "mbarrier.init.shared.b64 [%r1], 1;\n" +
           body + "\nret;\n}\n";
}

Execution run(const std::string& body) {
    Machine machine(kernel(body), "k.ptx", {.target = "sm_100a", .seed = 7, .threads = 1});
    machine.buffer("x", iota<int>(256));
    return machine.run("k", {1}, {1}, {machine.at("x")});
}

TEST(AsynchronousCopies, SayWhichFormIsUnsupported) {
    const std::pair<const char*, const char*> kForms[] = {
        {"cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r0], [%rd0, {%r2, %r2, "
         "%r2}], [%r1], {%h0};",
         "tiles alone are implemented"},
        {"cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%r0], [%rd0, {%r2, "
         "%r2, %r2, %r2, %r2}], [%r1];",
         "tiles alone are implemented"},
        {"cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes.cta_group::2 [%r0], [%rd0, {%r2}], "
         "[%r1];",
         "cta_group::2"},
        {"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.f32 [%r0], [%r0], 16, "
         "[%r1];",
         "floats in shared memory"},
        {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16 [%rd0], [%r0], 16;", "without .noftz"},
        {"tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%r0], 1;", "interleaved"},
        {"multimem.ld_reduce.global.add.u32 %r3, [%rd0];", "several GPUs"},
        {"clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r0], [%r1];",
         "take over the work"},
    };
    for (const auto& [form, why] : kForms) {
        const Execution done = run(form);
        EXPECT_EQ(done.outcome, Outcome::unsupported) << form << shown(done);
        EXPECT_THAT(done.log, testing::HasSubstr(why)) << form;
    }
}

TEST(Discard, LeavesNothingToRelyOn) {
    Machine machine(kernel("discard.global.L2 [%rd0+128], 128;"), "k.ptx",
                    {.target = "sm_100a", .seed = 7, .threads = 1});
    machine.buffer("x", iota<int>(256));
    EXPECT_EQ(machine.run("k", {1}, {1}, {machine.at("x")}).outcome, Outcome::correct);
    const std::vector<int> x = machine.values<int>("x", 256);
    for (int i = 0; i < 256; ++i) EXPECT_EQ(x[i] == i, i < 32 || i >= 64) << i;
    EXPECT_EQ(run("discard.global.L2 [%rd0+64], 128;").reports.at(0).check, Check::misaligned);
    EXPECT_EQ(run("discard.global.L2 [%rd0+1024], 128;").reports.at(0).check, Check::out_of_bounds);
}

TEST(AsynchronousCopies, ReportWhatTheyCannotDo) {
    const std::string kTo = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes ";
    const std::tuple<std::string, Check, const char*> kFaults[] = {
        {kTo + "[%r0], [%rd0], 24, [%r1];", Check::misaligned, "24 bytes, which is no multiple of 16"},
        {kTo + "[%r0+8], [%rd0], 16, [%r1];", Check::misaligned, "byte 8 of tile"},
        {kTo + "[%r0], [%rd0+4], 16, [%r1];", Check::misaligned, "no multiple of 16"},
        {kTo + "[%r0+1008], [%rd0], 32, [%r1];", Check::out_of_bounds, "shared variable tile"},
        {kTo + "[%r0], [%rd0+1008], 32, [%r1];", Check::out_of_bounds, "buffer x"},
        {kTo + "[0xff001000], [%rd0], 16, [%r1];", Check::out_of_bounds, "lies outside"},
        {kTo + "[%r0], [%rd0], 16, [%r0+512];", Check::uninitialised, "tile"},
        {"cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r0], 16;", Check::uninitialised, "tile"},
        {"cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [%r0], [%rd0, {%r2}], [%r1];",
         Check::illegal_instruction, "no tensor map"},
        {"tensormap.replace.tile.rank.global.b1024.b32 [%rd0], 1;", Check::illegal_instruction, "no tensor map"},
    };
    for (const auto& [body, check, words] : kFaults) {
        const Execution done = run(body);
        ASSERT_EQ(done.reports.size(), 1u) << body << shown(done);
        EXPECT_EQ(done.reports[0].check, check) << body << shown(done);
        EXPECT_THAT(done.reports[0].message, testing::HasSubstr(words)) << body;
    }
}

/// [%rd1] becomes a map of the 256 integers of x, in boxes of 16.
const std::string kMap =
    "st.shared.v4.b32 [%r0], {0, 0, 0, 0};\nst.shared.v4.b32 [%r0+16], {0, 0, 0, 0};\n"
    "st.shared.v4.b32 [%r0+32], {0, 0, 0, 0};\nst.shared.v4.b32 [%r0+48], {0, 0, 0, 0};\n"
    "st.shared.v4.b32 [%r0+64], {0, 0, 0, 0};\nst.shared.v4.b32 [%r0+80], {0, 0, 0, 0};\n"
    "st.shared.v4.b32 [%r0+96], {0, 0, 0, 0};\nst.shared.v4.b32 [%r0+112], {0, 0, 0, 0};\n"
    "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r0], %rd0;\n"
    "tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r0], 0;\n"
    "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r0], 0, 16;\n"
    "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r0], 0, 256;\n"
    "tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r0], 0, 1;\n"
    "tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r0], 3;\n"
    "tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%r0], 0;\n"
    "tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r0], 0;\n"
    "tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%r0], 0;\n"
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd0+512], [%r0], "
    "128;\n"
    "fence.proxy.tensormap::generic.acquire.gpu [%rd0+512], 128;\nadd.u64 %rd1, %rd0, 512;\n";

TEST(AsynchronousCopies, FillAMapThatIsAllZeros) {
    const Execution done =
        run(kMap +
            "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 64;\n"
            "cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [%r0+256], [%rd1, {%r2}], [%r1];\n"
            "again:\nmbarrier.try_wait.parity.shared.b64 %p0, [%r1], 0;\n@!%p0 bra again;\n"
            "ld.shared.u32 %r3, [%r0+268];\nsetp.ne.u32 %p1, %r3, 3;\n@%p1 trap;");
    EXPECT_EQ(done.outcome, Outcome::correct) << shown(done);
}

TEST(AsynchronousCopies, WriteNoBoxThatBeginsBeforeTheTensor) {
    for (const std::string form : {"cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group",
                                   "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group"}) {
        const Execution done = run(kMap + "mov.u32 %r2, -4;\n" + form + " [%rd1, {%r2}], [%r0];");
        ASSERT_EQ(done.reports.size(), 1u) << form << shown(done);
        EXPECT_EQ(done.reports[0].check, Check::illegal_instruction) << form;
        EXPECT_THAT(done.reports[0].message, testing::HasSubstr("coordinate -4 of dimension 0")) << form;
        EXPECT_EQ(run(kMap + "mov.u32 %r2, 248;\n" + form + " [%rd1, {%r2}], [%r0];").outcome, Outcome::correct)
            << form;
    }
}

}  // namespace
}  // namespace recuda::vgpu
