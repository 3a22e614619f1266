// Blocks an SM holds, against values worked out by cuda_occupancy.h's rules (and, for the well-known cases, against
// what CUDA's occupancy calculator shows).
#include "device/occupancy.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "device/gpus.h"

namespace recuda {
namespace {

struct Expected {
    const char* gpu;
    OccupancyRequest request;
    uint32_t blocks, warps;
    const char* limit;
};

constexpr Expected kTable[] = {
    // Full: 8 blocks of 256 threads with 32 registers are 2048 threads.
    {"h200", {256, 32, 0}, 8, 64, ""},
    {"a100", {1024, 32, 0}, 2, 64, ""},
    // 33 registers are allocated as 40 (by 256 a warp): 12 warps a part of 16384 registers, 48 in all.
    {"h200", {256, 33, 0}, 6, 48, "registers"},
    {"h200", {128, 64, 0}, 8, 32, "registers"},
    {"h200", {256, 255, 0}, 1, 8, "registers"},
    {"h200", {1024, 65, 0}, 0, 0, "registers"},  // 72 x 1024 are more than 64 Ki
    {"h200", {96, 128, 0}, 5, 15, "registers"},  // 16 warps fit, in threes
    // A block of one warp: the number of blocks limits.
    {"h200", {32, 16, 0}, 32, 32, "blocks"},
    {"l4", {32, 16, 0}, 24, 24, "blocks"},
    {"a6000", {32, 16, 0}, 16, 16, "blocks"},
    {"thor", {32, 16, 0}, 24, 24, "blocks"},
    // 1 KiB of each block's shared memory is the system's: 228 KiB hold one block of 227, two of 113, four of 56.
    {"h200", {128, 32, 227 << 10}, 1, 4, "shared memory"},
    {"h200", {128, 32, 113 << 10}, 2, 8, "shared memory"},
    {"h200", {128, 32, 114 << 10}, 1, 4, "shared memory"},
    {"h200", {128, 32, 56 << 10}, 4, 16, "shared memory"},
    {"l40s", {256, 32, 48 << 10}, 2, 16, "shared memory"},
    {"rtx5090", {256, 32, 49 << 10}, 2, 16, "shared memory"},
    {"a100", {256, 32, 163 << 10}, 1, 8, "shared memory"},
    {"l4", {128, 32, 100 << 10}, 0, 0, "shared memory"},
    // 1536 threads do not hold two blocks of 1024.
    {"rtx4090", {1024, 32, 0}, 1, 32, "threads"},
    {"h200", {768, 32, 0}, 2, 48, "threads"},
    {"b200", {256, 0, 0}, 8, 64, ""},  // registers not known
    {"gb10", {512, 40, 0}, 3, 48, ""},
};

TEST(Occupancy, FollowsTheRulesOfCuda) {
    for (const Expected& expected : kTable) {
        const Occupancy seen = occupancy_of(expected.request, gpu_named(expected.gpu));
        const std::string where = std::string(expected.gpu) + " " + std::to_string(expected.request.threads) + " " +
                                  std::to_string(expected.request.registers) + " " +
                                  std::to_string(expected.request.shared_bytes);
        EXPECT_EQ(seen.blocks, expected.blocks) << where;
        EXPECT_EQ(seen.warps, expected.warps) << where;
        EXPECT_EQ(seen.limit, expected.limit) << where;
    }
}

TEST(Gpus, AreKnownByTargetAndByName) {
    EXPECT_EQ(gpu_of_target("sm_90a").name, "virtual GPU (NVIDIA H200)");
    EXPECT_EQ(gpu_of_target("sm_90a").target, "sm_90a");
    EXPECT_EQ(gpu_of_target("sm_89").sm_count, 142u);  // the first of a target stands for it
    EXPECT_EQ(gpu_named("l4").target, "sm_89");
    EXPECT_EQ(gpu_named("l4").sm_count, 58u);
    EXPECT_EQ(gpu_of_target("sm_110").max_blocks_per_sm, 24u);
    EXPECT_THROW(gpu_of_target("sm_75"), Error);
    EXPECT_THROW(gpu_named("h20"), UsageError);
    const std::vector<std::string> targets = gpu_targets();
    EXPECT_EQ(std::count(targets.begin(), targets.end(), "sm_89"), 1);
}

}  // namespace
}  // namespace recuda
