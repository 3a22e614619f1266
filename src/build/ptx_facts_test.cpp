#include "build/ptx_facts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "build/sass.h"

namespace recuda {
namespace {

/// A module with one entry whose body is `body`; the body's first line is line 1 of kernel.cu.
std::string module_of(const std::string& body) {
    return ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p) {\n.loc 1 1 0\n" + body +
           "\nret;\n}\n.file 1 \"/home/user/kernel.cu\"\n.file 2 \"/cuda/include/chrono\"\n.file 3 "
           "\"/cuda/include/barrier\"\n";
}

Facts facts_of(const std::string& body) { return ptx_facts(module_of(body), "kernel.cu"); }

TEST(PtxFacts, OfSingleInstructions) {
    const struct {
        const char* instruction;
        FactKind kind;
        const char* what;
    } cases[] = {
        {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1}, {%r1}, {%r2}, {%f1};", FactKind::tensor_core,
         "mma m16n8k16 bf16, sums in f32"},
        {"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r1}, {%r1}, {%r2}, {%r1};", FactKind::half_accumulator,
         "mma m16n8k16"},
        {"wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32 {%f1}, {%r1}, {%r2}, {%f1};", FactKind::half_accumulator,
         "wmma m16n16k16"},
        {"wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e5m2 {%f1}, %rd1, %rd2, 1, 1, 1;", FactKind::tensor_core,
         "wgmma m64n128k32 e4m3 and e5m2, sums in f32"},
        {"fma.rn.bf16x2 %r1, %r2, %r3, %r1;", FactKind::half_arithmetic, "fma bf16x2"},
        {"add.rn.f64 %fd1, %fd2, %fd3;", FactKind::double_arithmetic, "add f64"},
        {"ld.global.nc.L1::no_allocate.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];", FactKind::global_load, "16 bytes"},
        {"ld.global.nc.L1::no_allocate.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];", FactKind::cache_policy,
         "ld.global.nc.L1::no_allocate.v4.u32"},
        {"st.b16 [%rd1], %rs1;", FactKind::global_store, "2 bytes, generic address"},
        {"@%p1 st.local.u32 [%rd1], %r1;", FactKind::local_memory, "store"},
        {"cp.async.cg.shared.global [%r1], [%rd1], 16;", FactKind::async_copy, "cp.async.cg.shared.global"},
        {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 512, [%r2];",
         FactKind::bulk_copy, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"},
        {"red.global.add.f32 [%rd1], %f1;", FactKind::float_atomic, "red.global.add.f32"},
        {"atom.shared.add.noftz.bf16x2 %r1, [s], %r2;", FactKind::float_atomic, "atom.shared.add.noftz.bf16x2"},
        {"mov.u64 %rd1, %clock64;", FactKind::clock, "mov.u64 %clock64"},
        {"mov.u32 %r1, %globaltimer_lo;", FactKind::global_timer, "mov.u32 %globaltimer_lo"},
        {"mov.u64 %rd1, %gridid;", FactKind::grid_id, "mov.u64 %gridid"},
        {"mov.u64 %rd1, %current_graph_exec;", FactKind::grid_id, "mov.u64 %current_graph_exec"},
        {"mov.u32 %r1, %smid;", FactKind::sm_id, "mov.u32 %smid"},
        {"mov.u32 %r1, %pm0;", FactKind::performance_counter, "mov.u32 %pm0"},
        {"nanosleep.u32 100;", FactKind::sleep, "nanosleep.u32"},
        {"createpolicy.fractional.L2::evict_last.b64 %rd1, 0.5;", FactKind::l2_residency,
         "createpolicy.fractional.L2::evict_last.b64"},
        {"createpolicy.fractional.L2::evict_first.b64 %rd1, 1.0;", FactKind::cache_policy,
         "createpolicy.fractional.L2::evict_first.b64"},
        {"prefetch.global.L2::evict_last [%rd1];", FactKind::l2_residency, "prefetch.global.L2::evict_last"},
        {"mov.b64 %rd9, 1508705875169116160; ld.global.L2::cache_hint.u32 %r1, [%rd1], %rd9;", FactKind::l2_residency,
         "ld.global.L2::cache_hint.u32"},
        {"discard.global.L2 [%rd1], 128;", FactKind::cache_policy, "discard.global.L2"},
        {"ld.volatile.global.u32 %r1, [%rd1];", FactKind::volatile_access, "ld.volatile.global.u32"},
        {"fence.acq_rel.sys;", FactKind::system_scope, "fence.acq_rel.sys"},
        {"griddepcontrol.wait;", FactKind::dependent_launch, "griddepcontrol.wait"},
        {"setmaxnreg.inc.sync.aligned.u32 232;", FactKind::register_reallocation, "setmaxnreg.inc.sync.aligned.u32"},
        {"{ call.uni (r), vprintf, (a, b); }", FactKind::print, "printf"},
        {"trap;", FactKind::trap, "trap"},
        {"brkpt;", FactKind::breakpoint, "brkpt"},
    };
    for (const auto& expected : cases) {
        const Facts facts = facts_of(expected.instruction);
        const Fact* fact = facts.find(expected.kind);
        ASSERT_NE(fact, nullptr) << expected.instruction;
        EXPECT_EQ(fact->what, expected.what);
        EXPECT_EQ(fact->count, 1u);
        EXPECT_EQ(fact->lines, std::vector<uint32_t>{1}) << expected.instruction;
        EXPECT_TRUE(fact->own);
    }
}

TEST(PtxFacts, WhatIsNone) {
    for (const char* instruction :
         {"ld.param.u64 %rd1, [p];", "ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r1];", "ld.const.u32 %r1, [c];",
          "atom.global.add.u32 %r1, [%rd1], 1;", "atom.global.max.f32 %f1, [%rd1], %f2;", "add.f32 %f1, %f2, %f3;",
          "cp.async.commit_group;", "mov.u32 %r1, %tid.x;", "// red.global.add.f32 [%rd1], %f1;",
          "wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1}, [%r2];", "bar.sync 0;",
          "mov.b64 %rd9, 1508705875169116160;"})
        EXPECT_TRUE(facts_of(instruction).ptx.empty()) << instruction;
    EXPECT_TRUE(ptx_facts("", "kernel.cu").ptx.empty());
    EXPECT_TRUE(ptx_facts(".entry k( {", "kernel.cu").ptx.empty());
    EXPECT_TRUE(ptx_facts(".visible .entry k() { mov.u64", "kernel.cu").ptx.empty());
}

/// Inlined functions by their mangled names, innermost first, around a read of the timer, the last called at line 20.
Facts facts_of_chain(const std::vector<std::string>& names) {
    std::string strings = ".section .debug_str {\n", locations;
    for (size_t i = 0; i < names.size(); ++i) {
        strings += "$L__info_string" + std::to_string(i) + ":\n.b8 ";
        for (const char c : names[i]) strings += std::to_string(static_cast<int>(c)) + ",";
        strings += "0\n";
        const bool last = i + 1 == names.size();
        locations = ".loc 2 " + std::to_string(100 + i) + " 1, function_name $L__info_string" + std::to_string(i) +
                    ", inlined_at " + (last ? "1 20 1" : "2 " + std::to_string(101 + i) + " 1") + "\n" + locations;
    }
    return ptx_facts(module_of(locations + "mov.u64 %rd1, %globaltimer;") + strings + "}\n", "kernel.cu");
}

/// libcu++ reads the timer to choose its next pause; a deadline makes the same read one that a result may hang on.
TEST(PtxFacts, TellPausesFromDeadlines) {
    const std::string
        now = "_ZN4cuda3std3__46chrono12system_clock3nowEv",
        poll =
            "_ZN4cuda3std3__431__cccl_thread_poll_with_backoffINS1_27__barrier_poll_tester_phaseINS_3__"
            "47barrierILNS1_12thread_scopeE2ENS1_18__empty_completionEEEEEEEbOT_NS1_6chrono8durationIxNS1_"
            "5ratioILx1ELx1000000000EEEEE",
        other_poll =
            "_ZN4cuda3std3__431__cccl_thread_poll_with_backoffIZNS1_18__atomic_semaphoreILNS1_12thread_"
            "scopeE2ELl4EE20__acquire_slow_timedERKNS1_6chrono8durationIxNS1_5ratioILx1ELx1000000000EEEEEE"
            "UlvE_EEbOT_SA_",
        wait = "_ZNK4cuda3__47barrierILNS_3std3__412thread_scopeE2ENS3_18__empty_completionEE4waitEOy",
        parity =
            "_ZNK4cuda3std3__414__barrier_baseINS1_18__empty_completionELNS1_12thread_scopeE1EE11wait_"
            "parityEb";
    for (const std::vector<std::string>& harmless :
         {std::vector<std::string>{now, poll, wait}, {now, poll, parity}, {now, poll, wait, "_ZN4cuda1f"}}) {
        const Facts facts = facts_of_chain(harmless);
        ASSERT_EQ(facts.ptx.size(), 1u);
        EXPECT_FALSE(facts.ptx[0].own);
        EXPECT_EQ(facts.ptx[0].lines, std::vector<uint32_t>{20});
    }
    const std::string timed =
        "_ZN4cuda3__47barrierILNS_3std3__412thread_scopeE2ENS3_18__empty_completionEE12try_wait_forEOy";
    for (const std::vector<std::string>& counted : {std::vector<std::string>{now},
                                                    {now, poll},
                                                    {now, poll, timed},
                                                    {now, other_poll, wait},
                                                    {now, wait, wait},
                                                    {now, poll, "_ZN2my3__47barrierIiE4waitEOy"},
                                                    {now, poll, "_ZN4cuda1fI9waitEOyE4E2gEv"},
                                                    {now, "", wait}}) {
        const Facts facts = facts_of_chain(counted);
        ASSERT_EQ(facts.ptx.size(), 1u);
        EXPECT_TRUE(facts.ptx[0].own) << counted.size();
    }
}

/// A function of a header that the user's text calls is its own; one that such a function calls is not.
TEST(PtxFacts, TellTheUsersOwnTextFromAHeadersDepths) {
    const char* deep =
        ".loc 3 10 1, function_name $a, inlined_at 1 20 1\n.loc 2 5 1, function_name $b, inlined_at 3 10 1\n"
        "nanosleep.u32 %r1;";
    const Facts header = facts_of(deep);
    ASSERT_EQ(header.ptx.size(), 1u);
    EXPECT_FALSE(header.ptx[0].own);
    EXPECT_EQ(header.ptx[0].lines, std::vector<uint32_t>{20});
    const Facts both =
        facts_of(std::string(deep) + "\n.loc 2 5 1, function_name $b, inlined_at 1 30 1\nnanosleep.u32 %r1;");
    ASSERT_EQ(both.ptx.size(), 1u);
    EXPECT_TRUE(both.ptx[0].own);
    EXPECT_EQ(both.ptx[0].count, 2u);
    EXPECT_EQ(both.ptx[0].lines, std::vector<uint32_t>{30});
}

TEST(Sass, IsCounted) {
    const SassFacts facts = read_sass(
        "\t.headerflags\t@\"EF_CUDA_SM90\"\n//---- .text.k ----\n.text.k:\n"
        "        /*0000*/                   LDC R1, c[0x0][0x28] ;\n"
        "        /*0010*/              @!P0 LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;\n"
        "        /*0020*/                   LDG.E.U16 R8, [R2.64] ;\n"
        "        /*0030*/                   STG.E.64 [R2.64], R4 ;\n"
        "        /*0040*/                   HMMA.16816.F32.BF16 R4, R4, R8, R4 ;\n"
        "        /*0050*/                   HGMMA.64x128x16.F32.BF16 R24, gdesc[UR4], R24 ;\n"
        "        /*0060*/                   STL.64 [R1+0x8], R4 ;\n"
        "        /*0070*/                   LDL R4, [R1+0x8] ;\n"
        "        /*0080*/                   CS2R R2, SR_CLOCKLO ;\n"
        "        /*0090*/                   S2R R0, SR_TID.X ;\n"
        "        /*00a0*/                   EXIT ;\n.L_x_0:\n");
    EXPECT_EQ(facts.instructions, 11u);
    EXPECT_EQ(facts.tensor_cores,
              (std::map<std::string, uint64_t>{{"HGMMA.64x128x16.F32.BF16", 1}, {"HMMA.16816.F32.BF16", 1}}));
    EXPECT_EQ(facts.global_loads, (std::map<uint32_t, uint64_t>{{2, 1}, {16, 1}}));
    EXPECT_EQ(facts.global_stores, (std::map<uint32_t, uint64_t>{{8, 1}}));
    EXPECT_EQ(facts.local_loads, 1u);
    EXPECT_EQ(facts.local_stores, 1u);
    EXPECT_EQ(facts.clock_reads, 1u);
    EXPECT_EQ(read_sass("/*\n/*0000*/\n/*0000*/ @\n").instructions, 0u);
}

TEST(Sass, OfWhatIsNoCubinIsAProblem) {
    const std::optional<SassFacts> facts = sass_facts({{.target = "sm_90", .cubin = "no machine code"}});
    if (!facts) GTEST_SKIP() << "there is no disassembler here";
    EXPECT_NE(facts->problem, "");
    EXPECT_EQ(facts->instructions, 0u);
}

}  // namespace
}  // namespace recuda
