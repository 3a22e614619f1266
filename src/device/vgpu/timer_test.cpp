// The clock of the wall, as %globaltimer shows it.
#include <gmock/gmock.h>

#include <set>

#include "device/vgpu/fixture.h"

namespace recuda::vgpu {
namespace {

constexpr char kReadTimer[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 y) {\n.reg .b64 %rd<3>;\n"
    "ld.param.u64 %rd1, [y];\nmov.u64 %rd2, %globaltimer;\nst.global.u64 [%rd1], %rd2;\nret;\n}\n";

/// Years in which `runs` runs on one device take place.
std::vector<uint64_t> years(uint64_t seed, uint32_t runs) {
    Machine machine(kReadTimer, "k.ptx", {.seed = seed, .threads = 1});
    machine.unwritten("y", 8);
    std::vector<uint64_t> years;
    for (uint32_t i = 0; i < runs; ++i) {
        const Execution done = machine.run("k", {1}, {1}, {machine.at("y")});
        EXPECT_EQ(done.outcome, Outcome::correct) << shown(done);
        years.push_back(1970 + machine.values<uint64_t>("y", 1)[0] / 31'556'952 / 1'000'000'000);
    }
    return years;
}

TEST(Timer, ShowsThePastThePresentAndTheFutureInThreeRuns) {
    std::set<int> orders;
    for (uint64_t seed = 0; seed < 40; ++seed) {
        const auto seen = years(seed, 6);
        for (size_t first = 0; first < seen.size(); first += 3) {
            std::vector<int> eras;
            for (size_t i = first; i < first + 3; ++i) eras.push_back(seen[i] < 2015 ? 0 : seen[i] < 2030 ? 1 : 2);
            EXPECT_THAT(eras, testing::UnorderedElementsAre(0, 1, 2));
            orders.insert(eras[0] * 3 + eras[1]);
        }
    }
    EXPECT_EQ(orders.size(), 6u) << "in every order";
    EXPECT_EQ(years(5, 3), years(5, 3)) << "by the seed";
}

}  // namespace
}  // namespace recuda::vgpu
