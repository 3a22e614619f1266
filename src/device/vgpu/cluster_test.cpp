// Clusters of blocks, compiled from tests/fixtures/vgpu/clusters.cu: values and reports.
#include "device/vgpu/cluster.h"

#include <gmock/gmock.h>

#include "device/vgpu/fixture.h"

namespace recuda::vgpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Clusters : public testing::TestWithParam<uint64_t> {};

TEST_P(Clusters, HandTilesAroundARing) {
    Machine machine("clusters");
    machine.unwritten("out", 8 * 64 * 4);
    const Execution done = machine.run("ring", {8}, {64}, {machine.at("out")}, 0, {.schedule = GetParam()});
    ASSERT_EQ(done.outcome, Outcome::correct) << shown(done);
    const auto out = machine.values<int>("out", 512);
    // Three turns to the next block, each mirrors the tile and adds its number.
    for (int block = 0; block < 8; ++block)
        for (int t = 0; t < 64; ++t)
            ASSERT_EQ(out[block * 64 + t], (block / 4 * 4 + (block + 1) % 4) * 100 + 63 - t + 3) << block << " " << t;
}

TEST_P(Clusters, KnowTheirShapeAndAddresses) {
    Machine machine("clusters");
    machine.unwritten("out", 8 * 4 * 4);
    const Execution done = machine.run("shape", {4, 2}, {32}, {machine.at("out")}, 0, {.schedule = GetParam()});
    ASSERT_EQ(done.outcome, Outcome::correct) << shown(done);
    const auto out = machine.values<int>("out", 32);
    const int own[] = {0, 1, 0, 1, 2, 3, 2, 3}, place[] = {0, 10, 0, 10, 1, 11, 1, 11};
    for (int block = 0; block < 8; ++block) {
        const int rank = own[block];
        EXPECT_EQ(out[block * 4], rank == 0 ? 32 * (1 + 2 + 3 + 4) : 0);
        EXPECT_EQ(out[block * 4 + 1], 30 + rank) << block;
        EXPECT_EQ(out[block * 4 + 2], rank == 3 ? 3 : 1) << block;
        EXPECT_EQ(out[block * 4 + 3], 2200 + place[block]) << block;
    }
}

TEST_P(Clusters, OrderByReleaseAndAcquire) {
    Machine machine("clusters");
    machine.unwritten("out", 3 * 4);
    const Execution done = machine.run("handover", {6}, {32}, {machine.at("out")}, 0, {.schedule = GetParam()});
    ASSERT_EQ(done.outcome, Outcome::correct) << shown(done);
    EXPECT_THAT(machine.values<int>("out", 3), ElementsAre(42, 42, 42));
}

struct Fault {
    const char* kernel;
    Check check;
    const char* marks[2];  // lines, the second one of the other access; "" where none
    const char* buffer;
    int64_t byte_offset;
};

TEST_P(Clusters, ReportFaults) {
    const Fault kFaults[] = {
        {"unordered_read", Check::shared_race, {"second", "first"}, "tile", 0},
        {"own_barrier", Check::shared_race, {"reads", "writes"}, "tile", 0},
        {"past_end", Check::out_of_bounds, {"fault", ""}, "tile", 128},
        {"never_written", Check::uninitialised, {"fault", ""}, "tile", 0},
        {"left", Check::out_of_bounds, {"fault", ""}, "tile", 0},
        {"half_waits", Check::deadlock, {"never", ""}, "", 0},
    };
    for (const Fault& wanted : kFaults) {
        Machine machine("clusters");
        machine.buffer("out", std::vector<int>(64));
        const Execution done = machine.run(wanted.kernel, {2}, {32}, {machine.at("out")}, 0, {.schedule = GetParam()});
        ASSERT_EQ(done.outcome, Outcome::faulted) << wanted.kernel;
        ASSERT_EQ(done.reports.size(), 1u) << wanted.kernel << shown(done);
        const Report& report = done.reports[0];
        EXPECT_EQ(report.check, wanted.check) << wanted.kernel << shown(done);
        EXPECT_EQ(report.buffer, wanted.buffer) << wanted.kernel;
        EXPECT_EQ(report.byte_offset, wanted.byte_offset) << wanted.kernel;
        const auto lines_of = [](const char* mark) { return marked_lines("clusters.cu", mark); };
        EXPECT_THAT(lines_of(wanted.marks[0]), testing::Contains(report.line)) << wanted.kernel << shown(done);
        EXPECT_EQ(report.other.has_value(), wanted.marks[1][0] != 0) << wanted.kernel;
        if (report.other && wanted.marks[1][0] != 0) {
            EXPECT_THAT(lines_of(wanted.marks[1]), testing::Contains(report.other->line)) << wanted.kernel;
            EXPECT_FALSE(report.other->block == report.block) << wanted.kernel;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Schedules, Clusters, testing::Values(0, 1, 2, 3));

TEST(Cluster, IsRefusedWhereTheGpuHasNone) {
    Machine old("clusters", {.target = "sm_80", .seed = 7, .threads = 1});
    old.unwritten("out", 4096);
    const Execution refused = old.run("ring", {8}, {64}, {old.at("out")});
    EXPECT_EQ(refused.outcome, Outcome::launch_refused);
    EXPECT_THAT(refused.log, HasSubstr("sm_90"));
    Machine machine("clusters");
    machine.unwritten("out", 4096);
    EXPECT_EQ(machine.run("ring", {6}, {64}, {machine.at("out")}).outcome, Outcome::launch_refused);
}

}  // namespace
}  // namespace recuda::vgpu
