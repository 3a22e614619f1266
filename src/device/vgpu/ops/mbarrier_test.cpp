// mbarriers and bulk copies, compiled from tests/fixtures/vgpu/phases.cu: values and reports.
#include "device/vgpu/ops/mbarrier.h"

#include <gmock/gmock.h>

#include "device/vgpu/fixture.h"

namespace recuda::vgpu {
namespace {

TEST(PhaseWord, KeepsItsPartsInItsBits) {
    for (const int32_t bytes : {0, 1, -1, 1048575, -1048575}) {
        const PhaseWord word{.pending = 1048575, .expected = 77, .bytes = bytes, .phase = true, .valid = true};
        const PhaseWord back = PhaseWord::of(word.bits());
        EXPECT_EQ(back.pending, 1048575u);
        EXPECT_EQ(back.expected, 77u);
        EXPECT_EQ(back.bytes, bytes);
        EXPECT_TRUE(back.phase && back.valid);
    }
    EXPECT_FALSE(PhaseWord::of(0).valid);
}

class Phases : public testing::TestWithParam<uint64_t> {
 protected:
    Execution run(Machine& machine, const std::string& entry, Dim3 grid, Dim3 block, bool reads) {
        machine.buffer("x", iota<int>(512));
        machine.buffer("out", std::vector<int>(512));
        std::vector<Argument> arguments;
        if (reads) arguments.push_back(machine.at("x"));
        arguments.push_back(machine.at("out"));
        return machine.run(entry, grid, block, arguments, 0, {.schedule = GetParam()});
    }
};

TEST_P(Phases, FillAndEmptyARing) {
    Machine machine("phases");
    const Execution done = run(machine, "ring", {1}, {96}, true);
    ASSERT_EQ(done.outcome, Outcome::correct) << shown(done);
    const auto out = machine.values<int>("out", 512);
    for (int step = 0; step < 8; ++step)
        for (int t = 0; t < 64; ++t) ASSERT_EQ(out[step * 64 + t], (step * 64 + 63 - t) * 2) << step << " " << t;
}

TEST_P(Phases, ReachEveryBlockOfACluster) {
    Machine machine("phases");
    const Execution done = run(machine, "everywhere", {2}, {32}, true);
    ASSERT_EQ(done.outcome, Outcome::correct) << shown(done);
    const auto out = machine.values<int>("out", 64);
    for (int i = 0; i < 64; ++i) ASSERT_EQ(out[i], i % 32 + i / 32 * 1000) << i;
}

TEST_P(Phases, ReportFaults) {
    struct Fault {
        const char* kernel;
        uint32_t threads;
        bool reads;
        Check check;
        const char *mark, *buffer;
        int64_t byte_offset;
        uint32_t thread;
    };
    const Fault kFaults[] = {
        {"too_few", 32, false, Check::deadlock, "fault", "", 0, 0},
        {"too_many", 32, false, Check::illegal_instruction, "fault", "", 0, 0},
        {"no_init", 32, false, Check::uninitialised, "fault", "barrier", 0, 0},
        {"past_source", 32, true, Check::out_of_bounds, "fault", "x", 2048, 3},
        {"unawaited", 64, true, Check::shared_race, "second", "tile", 128, 32},
    };
    for (const Fault& wanted : kFaults) {
        Machine machine("phases");
        const Execution done = run(machine, wanted.kernel, {1}, {wanted.threads}, wanted.reads);
        ASSERT_EQ(done.outcome, Outcome::faulted) << wanted.kernel;
        ASSERT_EQ(done.reports.size(), 1u) << wanted.kernel << shown(done);
        const Report& report = done.reports[0];
        EXPECT_EQ(report.check, wanted.check) << wanted.kernel << shown(done);
        EXPECT_EQ(report.buffer, wanted.buffer) << wanted.kernel;
        EXPECT_EQ(report.byte_offset, wanted.byte_offset) << wanted.kernel;
        EXPECT_EQ(report.thread.x, wanted.thread) << wanted.kernel;
        EXPECT_THAT(marked_lines("phases.cu", wanted.mark), testing::Contains(report.line)) << wanted.kernel;
    }
}

INSTANTIATE_TEST_SUITE_P(Schedules, Phases, testing::Values(0, 1, 2));

}  // namespace
}  // namespace recuda::vgpu
