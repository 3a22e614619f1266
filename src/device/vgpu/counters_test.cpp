// Counters with their exact values on small kernels, one effect each.
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "device/vgpu/fixture.h"

namespace recuda::vgpu {
namespace {

/// An entry of one pointer `x` (in %rd1) and one number `n` (in %r1); the thread's number is in %r2, its address of
/// n * thread in %rd3.
std::string entry_of(const std::string& body) {
    return ".version 8.0\n.target sm_90\n.address_size 64\n"
           ".visible .entry k(.param .u64 x, .param .u32 n)\n{\n"
           ".reg .b32 %r<20>;\n.reg .b64 %rd<8>;\n.reg .f32 %f<20>;\n.reg .pred %p<4>;\n"
           ".shared .align 16 .b8 s[4096];\n"
           "ld.param.u64 %rd1, [x];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\n"
           "mul.lo.u32 %r3, %r1, %r2;\nmul.wide.u32 %rd2, %r3, 1;\nadd.u64 %rd3, %rd1, %rd2;\n" +
           body + "ret;\n}\n";
}

Counters counted(const std::string& body, uint32_t number, uint32_t threads = 32, Dim3 grid = {1},
                 RunOptions options = {}) {
    Machine machine(entry_of(body), "k.ptx", {.seed = 7, .threads = 1});
    machine.buffer("x", std::vector<uint32_t>(4096));
    const Execution done = machine.run("k", grid, {threads}, {machine.at("x"), Machine::value(number)}, 0, options);
    EXPECT_EQ(done.outcome, Outcome::correct) << shown(done);
    return *done.counters;
}

TEST(Counters, SectorsByTheDistanceOfLanes) {
    struct {
        uint32_t bytes_apart;
        uint64_t sectors;
    } const cases[] = {{0, 1}, {4, 4}, {8, 8}, {12, 12}, {16, 16}, {32, 32}, {64, 32}, {128, 32}};
    for (const auto& [apart, sectors] : cases) {
        const Counters reads =
            counted("ld.global.u32 %r4, [%rd3];\nst.shared.u32 [s], 1;\nadd.u32 %r5, %r4, 1;\n", apart);
        EXPECT_EQ(reads.global_read.requests, 1u) << apart;
        EXPECT_EQ(reads.global_read.bytes, 128u) << apart;
        EXPECT_EQ(reads.global_read.sectors, sectors) << apart;
        EXPECT_EQ(reads.global_write.requests, 0u) << apart;
    }
    const Counters writes = counted("st.global.v4.u32 [%rd3], {%r2, %r2, %r2, %r2};\n", 16);
    EXPECT_EQ(writes.global_write.sectors, 16u);
    EXPECT_EQ(writes.global_write.bytes, 512u);
}

TEST(Counters, PassesOverTheBanks) {
    struct {
        const char* access;
        uint32_t bytes_apart;
        uint64_t passes, ideal;
    } const cases[] = {
        {"st.shared.u32 [%r4], %r2;\n", 4, 1, 1},
        {"st.shared.u32 [%r4], %r2;\n", 8, 2, 1},
        {"st.shared.u32 [%r4], %r2;\n", 64, 16, 1},
        {"st.shared.u32 [%r4], %r2;\n", 128, 32, 1},
        {"st.shared.u64 [%r4], %rd1;\n", 8, 2, 2},
        {"st.shared.v4.u32 [%r4], {%r2, %r2, %r2, %r2};\n", 16, 4, 4},
        {"st.shared.v4.u32 [%r4], {%r2, %r2, %r2, %r2};\n", 32, 8, 4},
    };
    for (const auto& [access, apart, passes, ideal] : cases) {
        const Counters seen = counted(std::string("mov.u32 %r4, s;\nadd.u32 %r4, %r4, %r3;\n") + access, apart);
        EXPECT_EQ(seen.shared_requests, 1u) << access << apart;
        EXPECT_EQ(seen.shared_wavefronts, passes) << access << apart;
        EXPECT_EQ(seen.shared_ideal, ideal) << access << apart;
    }
}

TEST(Counters, LanesAndDivergence) {
    // Lanes below n skip two instructions.
    const std::string skip =
        "setp.lt.u32 %p1, %r2, %r1;\n@%p1 bra done;\nadd.u32 %r5, %r2, 1;\nadd.u32 %r6, %r5, 1;\ndone:\n";
    struct {
        uint32_t skipping;
        uint64_t divergent, idle;  // idle: lanes that do not run the two
    } const cases[] = {{0, 0, 0}, {12, 1, 24}, {32, 0, 0}};
    for (const auto& [skipping, divergent, idle] : cases) {
        const Counters seen = counted(skip, skipping);
        EXPECT_EQ(seen.branches, 1u) << skipping;
        EXPECT_EQ(seen.divergent_branches, divergent) << skipping;
        EXPECT_EQ(seen.warp_instructions * 32 - seen.thread_instructions, idle) << skipping;
    }
    EXPECT_EQ(counted("", 0, 40).thread_instructions * 2, counted("", 0, 80).thread_instructions);
}

TEST(Counters, BarriersAndThreadsThatHaveLeft) {
    const Counters whole = counted("bar.sync 0;\nbar.sync 0;\n", 0, 64, {3});
    EXPECT_EQ(whole.barriers, 6u);
    EXPECT_EQ(whole.barrier_arrivals, 12u);
    EXPECT_EQ(whole.early_exits, 0u);
    EXPECT_EQ(whole.warps, 6u);
    // The first warp leaves before the second comes to the barrier.
    const Counters left = counted("setp.lt.u32 %p1, %r2, 32;\n@%p1 ret;\nbar.sync 0;\n", 0, 64);
    EXPECT_EQ(left.barrier_arrivals, 1u);
    EXPECT_EQ(left.early_exits, 1u);
}

TEST(Counters, AtomicsThatMeet) {
    const std::string add = "red.global.add.u32 [%rd3], 1;\n";
    struct {
        uint32_t bytes_apart;
        uint64_t conflicts, repeats;
    } const cases[] = {{0, 62, 1}, {4, 0, 1}};
    for (const auto& [apart, conflicts, repeats] : cases) {
        const Counters seen = counted(add, apart, 32, {2});
        EXPECT_EQ(seen.atomics, 64u) << apart;
        EXPECT_EQ(seen.atomic_conflicts, conflicts) << apart;
        EXPECT_EQ(seen.atomic_repeats, repeats) << apart;  // block 1 begins where block 0 did
    }
    EXPECT_EQ(counted("st.shared.u32 [s], 0;\nbar.sync 0;\natom.shared.add.u32 %r4, [s], 1;\n", 0).atomic_conflicts,
              31u);
}

TEST(Counters, ChainsOfWhatWaitsForWhat) {
    const auto loads = [](const std::string& body) { return counted(body, 0).chain.global; };
    EXPECT_EQ(loads("ld.global.u32 %r4, [%rd3];\nld.global.u32 %r5, [%rd3+4];\nadd.u32 %r6, %r4, %r5;\n"), 1)
        << "side by side";
    EXPECT_EQ(loads("ld.global.u32 %r4, [%rd3];\nadd.u32 %r5, %r4, 1;\nld.global.u32 %r6, [%rd3+4];\n"
                    "add.u32 %r7, %r6, %r5;\n"),
              1)
        << "the second does not need the first, wherever it stands";
    EXPECT_EQ(loads("ld.global.u64 %rd4, [%rd3];\nadd.u64 %rd5, %rd3, %rd4;\nld.global.u32 %r4, [%rd5];\n"
                    "add.u32 %r5, %r4, 1;\n"),
              2)
        << "an address that was loaded";
    EXPECT_EQ(loads("ld.global.u32 %r4, [%rd3];\nst.global.u32 [%rd3+8], %r4;\nld.global.u32 %r5, [%rd3+4];\n"), 2)
        << "a store may have changed what is read";
    EXPECT_EQ(loads("ld.global.u32 %r4, [%rd3];\nst.global.u32 [%rd3+8], %r4;\nld.global.nc.u32 %r5, [%rd3+4];\n"), 1)
        << "nobody changes what .nc reads";
    const Counters loop = counted(
        "mov.u32 %r4, 0;\nloop:\nld.global.u32 %r5, [%rd3];\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, 5;\n"
        "@%p1 bra loop;\n",
        0);
    EXPECT_EQ(loop.chain.global, 5);
    EXPECT_EQ(loop.chain.branch, 6);  // and the ret
    EXPECT_EQ(loop.working_warps, 1u);
}

TEST(Counters, LaunchesAreKeptApart) {
    Machine machine(entry_of("st.global.u32 [%rd3], %r2;\n"), "k.ptx", {.seed = 7, .threads = 1});
    machine.buffer("x", std::vector<uint32_t>(4096));
    Launch first{
        .module = 0, .entry = "k", .grid = {2}, .block = {32}, .arguments = {machine.at("x"), Machine::value(4u)}};
    Launch second = first;
    second.grid = {3};
    const Launch launches[] = {first, second};
    const Execution done = machine.device().run(launches);
    ASSERT_EQ(done.counters->launches.size(), 2u);
    EXPECT_EQ(done.counters->launches[0].blocks, 2u);
    EXPECT_EQ(done.counters->launches[1].blocks, 3u);
    EXPECT_EQ(done.counters->blocks, 5u);
    const Execution off = machine.device().run(launches, {.count = false});
    EXPECT_EQ(off.counters->warp_instructions, 0u);
}

TEST(Schedules, PermuteBlocksAndWarps) {
    // Every warp's first thread draws a ticket and notes it at its place: the tickets are the order.
    const std::string draw =
        "setp.ne.u32 %p1, %r10, 0;\n@%p1 ret;\natom.global.add.u32 %r4, [%rd1], 1;\nmov.u32 %r5, %ctaid.x;\n"
        "mul.lo.u32 %r5, %r5, 4;\nshr.u32 %r6, %r2, 5;\nadd.u32 %r5, %r5, %r6;\nmul.wide.u32 %rd4, %r5, 4;\n"
        "add.u64 %rd5, %rd1, %rd4;\nst.global.u32 [%rd5+4], %r4;\n";
    std::set<std::vector<uint32_t>> orders;
    for (const uint64_t seed : {0, 1, 2, 1}) {
        Machine machine(entry_of("mov.u32 %r10, %laneid;\n" + draw), "k.ptx", {.seed = 7, .threads = 1});
        machine.buffer("x", std::vector<uint32_t>(64));
        const Execution done =
            machine.run("k", {8}, {128}, {machine.at("x"), Machine::value(0u)}, 0, {.schedule = seed});
        ASSERT_EQ(done.outcome, Outcome::correct) << shown(done);
        std::vector<uint32_t> order = machine.values<uint32_t>("x", 33);
        order.erase(order.begin());
        orders.insert(order);
        if (seed == 0) {
            EXPECT_EQ(order, iota<uint32_t>(32)) << "the natural order";
            continue;
        }
        bool blocks_moved = false, warps_moved = false;
        for (uint32_t block = 0; block < 8; ++block) {
            const uint32_t first = *std::min_element(order.begin() + block * 4, order.begin() + block * 4 + 4);
            blocks_moved |= first / 4 != block;
            for (uint32_t warp = 0; warp < 4; ++warp) warps_moved |= order[block * 4 + warp] != first + warp;
        }
        EXPECT_TRUE(blocks_moved) << seed;
        EXPECT_TRUE(warps_moved) << seed;
    }
    EXPECT_EQ(orders.size(), 3u) << "a seed gives one order";
}

}  // namespace
}  // namespace recuda::vgpu
