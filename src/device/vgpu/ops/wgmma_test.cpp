// Products of warpgroups, compiled from tests/fixtures/vgpu/wgmma.cu: values and reports. tests/matrix has every form.
#include <gmock/gmock.h>

#include "device/vgpu/fixture.h"
#include "device/vgpu/ops/matrix_descriptor.h"

namespace recuda::vgpu {
namespace {

Execution run(Machine& machine, const std::string& entry, uint32_t threads, uint64_t schedule) {
    machine.buffer("out", std::vector<float>(640));
    return machine.run(entry, {1}, {threads}, {machine.at("out")}, 0, {.schedule = schedule});
}

class Wgmma : public testing::TestWithParam<uint64_t> {
 protected:
    Machine machine{"wgmma", {.target = "sm_90a", .seed = 7, .threads = 1}};
};

TEST_P(Wgmma, TakesBuffersInTurn) {
    const Execution done = run(machine, "in_turn", 128, GetParam());
    ASSERT_EQ(done.outcome, Outcome::correct) << shown(done);
    EXPECT_THAT(machine.values<float>("out", 512), testing::Each(16.0f * (1 + 2 + 3 + 4 + 5)));
}

TEST_P(Wgmma, OneWarpsWaitHandsItsOperandsOn) {
    const Execution done = run(machine, "handed_on", 160, GetParam());
    ASSERT_EQ(done.outcome, Outcome::correct) << shown(done);
    EXPECT_THAT(machine.values<float>("out", 512), testing::Each(32.0f));
}

TEST_P(Wgmma, ReportsFaults) {
    struct Fault {
        const char* entry;
        Check check;
        uint32_t threads = 128;
    };
    for (const Fault& fault :
         {Fault{"no_barrier", Check::shared_race}, Fault{"no_wait", Check::shared_race},
          Fault{"handed_on_early", Check::shared_race, 160}, Fault{"unwritten", Check::uninitialised},
          Fault{"beyond", Check::out_of_bounds}, Fault{"parted", Check::deadlock}}) {
        Machine own("wgmma", {.target = "sm_90a", .seed = 7, .threads = 1});
        const Execution done = run(own, fault.entry, fault.threads, GetParam());
        ASSERT_EQ(done.reports.size(), 1u) << fault.entry << shown(done);
        const Report& report = done.reports[0];
        EXPECT_EQ(report.check, fault.check) << fault.entry << shown(done);
        const uint32_t line = marked_lines("wgmma.cu", fault.entry).at(0);
        const bool named = report.line == line || (report.other && report.other->line == line);
        EXPECT_TRUE(named) << fault.entry << shown(done);
        EXPECT_EQ(report.buffer, fault.check == Check::deadlock ? "" : "tiles") << shown(done);
    }
}

INSTANTIATE_TEST_SUITE_P(Schedules, Wgmma, testing::Values(0, 1, 2));

TEST(Warpgroup, HasFourWarps) {
    Machine machine("wgmma", {.target = "sm_90a", .seed = 7, .threads = 1});
    const Execution done = run(machine, "in_turn", 96, 0);
    ASSERT_EQ(done.reports.size(), 1u) << shown(done);
    EXPECT_EQ(done.reports[0].check, Check::absent_lane);
}

// Offsets that the canonical layouts of CUTLASS give, in elements of 16 bits times two.
TEST(MatrixDescriptor, FindsCoreMatrices) {
    struct Place {
        uint64_t swizzle, leading, stride;
        bool by_rows;
        uint32_t first, second, address;  // row and part of 16 bytes, or piece of 8 rows and k
    };
    for (const Place& place :
         {Place{0, 128, 512, false, 9, 1, 512 + 16 + 128}, Place{0, 128, 512, true, 3, 9, 3 * 512 + 16 + 128},
          Place{1, 16, 1024, false, 9, 1, 1024 + 128 + (1 ^ 1) * 16},
          Place{1, 4096, 1024, true, 10, 11, 4096 + 1024 + 3 * 128 + (2 ^ 3) * 16},
          Place{2, 16, 512, false, 5, 1, 5 * 64 + (1 ^ 2) * 16 - 0},
          Place{3, 16, 256, false, 4, 1, 4 * 32 + (1 ^ 1) * 16},
          Place{3, 2048, 256, true, 5, 6, 2 * 2048 + 6 * 32 + (1 ^ 1) * 16}}) {
        const auto matrix = MatrixDescriptor::of((place.leading >> 4) << 16 | (place.stride >> 4) << 32 |
                                                 place.swizzle << 62 | 0x4000 >> 4);
        EXPECT_EQ(
            place.by_rows ? matrix.along_rows(place.first, place.second) : matrix.along_k(place.first, place.second),
            0x4000 + place.address)
            << place.swizzle << " " << place.by_rows << " " << place.first << " " << place.second;
    }
}

}  // namespace
}  // namespace recuda::vgpu
