// The estimate must prefer what is known to be faster; it promises no more.
#include "judge/estimate.h"

#include <gtest/gtest.h>

namespace recuda {
namespace {

const DeviceInfo kInfo{.sm_count = 132, .memory_bytes_per_ns = 4800};

LaunchPlan plan_of(uint32_t launches, uint32_t blocks, uint32_t threads) {
    LaunchPlan plan;
    plan.launches.resize(launches);
    for (PlannedLaunch& launch : plan.launches) launch.grid = {blocks, 1, 1}, launch.block = {threads, 1, 1};
    return plan;
}

/// 64 KiB copied by blocks of 256 threads in accesses of so many bytes a lane.
Counters copying(uint64_t bytes_a_lane, uint64_t blocks) {
    Counters counters;
    const uint64_t bytes = 64 << 10, requests = bytes / (32 * bytes_a_lane);
    counters.blocks = blocks;
    counters.global_read = counters.global_write = {requests, bytes, bytes / 32};
    counters.warp_instructions = 8 * requests;
    return counters;
}

TEST(Estimate, PrefersWhatIsFaster) {
    const double wide = estimate(copying(16, 8), plan_of(1, 8, 256), kInfo);
    EXPECT_GT(wide, 0);
    EXPECT_LT(wide, estimate(copying(2, 8), plan_of(1, 8, 256), kInfo)) << "16-byte accesses of a loop";
    EXPECT_LT(estimate(copying(16, 16), plan_of(1, 16, 256), kInfo, 100),
              estimate(copying(2, 128), plan_of(1, 128, 256), kInfo, 100))
        << "16-byte accesses, one a thread";
    EXPECT_LT(estimate(copying(16, 64), plan_of(1, 64, 256), kInfo),
              estimate(copying(16, 1), plan_of(1, 1, 256), kInfo))
        << "enough blocks";
    EXPECT_LT(wide, estimate(copying(16, 16), plan_of(2, 8, 256), kInfo)) << "fewer launches";
    Counters wasteful = copying(16, 8), conflicting = copying(16, 8), longer = copying(16, 8);
    wasteful.global_read.sectors *= 1000;
    conflicting.shared_wavefronts = 10000;
    longer.warp_instructions *= 4;
    EXPECT_LT(wide, estimate(wasteful, plan_of(1, 8, 256), kInfo)) << "whole sectors";
    EXPECT_LT(wide, estimate(conflicting, plan_of(1, 8, 256), kInfo)) << "no bank conflicts";
    EXPECT_LT(wide, estimate(copying(16, 8), plan_of(1, 8, 256), kInfo, 100)) << "less work";
    EXPECT_LT(wide, estimate(longer, plan_of(1, 8, 256), kInfo)) << "fewer instructions";
}

}  // namespace
}  // namespace recuda
