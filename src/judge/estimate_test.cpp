// The estimate must prefer what is known to be faster; it promises no more. How well it ranks real kernels is measured
// by bench/calibrate.py.
#include "judge/estimate.h"

#include <gtest/gtest.h>

namespace recuda {
namespace {

const DeviceInfo kInfo{
    .sm_count = 132, .max_shared_bytes = 227 << 10, .shared_bytes_per_sm = 228 << 10, .memory_bytes_per_ns = 4800};

LaunchPlan plan_of(uint32_t launches, uint32_t blocks, uint32_t threads) {
    LaunchPlan plan;
    plan.launches.resize(launches);
    for (PlannedLaunch& launch : plan.launches) launch.grid = {blocks, 1, 1}, launch.block = {threads, 1, 1};
    return plan;
}

/// So many bytes copied in accesses of so many a lane by `warps` warps, which read everything before they write.
Counters copying(uint64_t bytes, uint64_t bytes_a_lane, uint64_t warps, uint64_t launches = 1) {
    LaunchCounters counted;
    const uint64_t requests = bytes / (32 * bytes_a_lane) / launches;
    counted.warps = counted.working_warps = warps;
    counted.global_read = counted.global_write = {requests, bytes / launches, bytes / 32 / launches};
    counted.warp_instructions = 8 * requests;
    counted.issue_cycles = 20 * requests;
    counted.chain.arithmetic = static_cast<int64_t>(10 * warps);
    counted.chain.global = static_cast<int64_t>(warps);
    Counters counters;
    for (uint64_t i = 0; i < launches; ++i) counters.launches.push_back(counted), counters.LaunchCounters::add(counted);
    return counters;
}

double estimated(const Counters& counters, const LaunchPlan& plan, double scale = 1, double least_bytes = 0) {
    return estimate({counters, plan, kInfo, scale, least_bytes});
}

TEST(Estimate, PrefersWhatIsFaster) {
    constexpr uint64_t kBytes = 16 << 20;
    const LaunchPlan plan = plan_of(1, 1024, 256);
    const double wide = estimated(copying(kBytes, 16, 8192), plan);
    EXPECT_GT(wide, 0);
    EXPECT_LT(wide, estimated(copying(kBytes, 2, 8192), plan)) << "16-byte accesses";
    EXPECT_LT(wide, estimated(copying(kBytes, 16, 8), plan_of(1, 1, 256))) << "enough blocks";
    EXPECT_LT(wide, estimated(copying(kBytes, 16, 8192, 2), plan_of(2, 1024, 256))) << "fewer launches";
    EXPECT_LT(wide, estimated(copying(kBytes, 16, 8192), plan, 4)) << "less work";
    EXPECT_GT(wide, estimated(copying(kBytes, 16, 8192), plan, 1, kBytes / 8)) << "data that lies in the L2";
    const auto worse = [&](auto change) {
        Counters counters = copying(kBytes, 16, 8192);
        change(counters.launches[0]);
        return estimated(counters, plan);
    };
    EXPECT_LT(wide, worse([](LaunchCounters& counted) { counted.global_read.sectors *= 8; })) << "whole sectors";
    EXPECT_LT(wide, worse([](LaunchCounters& counted) { counted.shared_wavefronts = 10'000'000; })) << "no conflicts";
    EXPECT_LT(wide, worse([](LaunchCounters& counted) { counted.issue_cycles *= 8; })) << "fewer instructions";
    EXPECT_LT(wide, worse([](LaunchCounters& counted) { counted.chain.global *= 8; })) << "loads side by side";
    EXPECT_LT(wide, worse([](LaunchCounters& counted) { counted.atomics = counted.atomic_repeats = 1'000'000; }));
}

TEST(Estimate, MoreBlocksInResidenceHideWaits) {
    LaunchPlan roomy = plan_of(1, 16384, 64), cramped = roomy;
    cramped.launches[0].shared_bytes = 200 << 10;
    const Counters counters = copying(4 << 20, 4, 32768);
    EXPECT_LT(2 * estimated(counters, roomy), estimated(counters, cramped));
}

TEST(Estimate, CountersOfNoLaunchAreSharedOut) {
    Counters counters = copying(1 << 20, 16, 512, 2);
    const double each = estimated(counters, plan_of(2, 32, 256));
    counters.launches.clear();
    EXPECT_NEAR(estimated(counters, plan_of(2, 32, 256)), each, 1e-6 * each);
}

}  // namespace
}  // namespace recuda
