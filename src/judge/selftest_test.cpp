// That the catalogue of the self-test is whole, and that the self-test says so where the judge is fooled. All cases
// together are run by tests/cli/test_selftest.py.
#include "judge/selftest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "build/builder.h"
#include "device/vgpu/vgpu.h"
#include "judge/selftest_attacks.h"
#include "task/catalogue.h"

namespace recuda {
namespace {

using Kind = SelftestCase::Kind;

TEST(SelftestCases, HoldEveryKnownCheatOnceAndFaults) {
    const std::vector<SelftestCase> cases = read_selftest(RECUDA_SOURCE_DIR);
    std::multiset<int> numbers;
    size_t faults = 0, on_vgpu = 0;
    for (const SelftestCase& one : cases) {
        if (one.number > 0) numbers.insert(one.number);
        faults += one.kind == Kind::fault ? 1 : 0;
        on_vgpu += one.number > 0 && one.catchable && one.on_vgpu ? 1 : 0;
        EXPECT_TRUE(one.kind != Kind::fault || one.number == 0) << one.name;
        EXPECT_TRUE(!one.attack.empty() || one.kind == Kind::right || !one.catchable || !one.caught_by.empty())
            << one.name << " names nothing that must catch it";
    }
    for (int number = 1; number <= 35; ++number) EXPECT_EQ(numbers.count(number), 1u) << number;
    EXPECT_EQ(numbers.size(), 35u);
    EXPECT_GE(on_vgpu, 30u);
    EXPECT_GE(faults, 40u);
    EXPECT_EQ(cases.front().kind, Kind::right);
}

TEST(SelftestCases, MalformedOnesSayWhere) {
    const TemporaryFolder home;
    const std::filesystem::path folder = home.path() / "selftest";
    std::filesystem::create_directories(folder / "right");
    std::filesystem::create_directories(folder / "cases");
    write_atomically(folder / "right" / "rmsnorm.cu", "//! launch k<<<T, 32>>>(x)\none two one\n");
    const struct {
        const char *text, *says;
    } cases[] = {
        {"kind = 'cheat'\n", "`what` is missing"},
        {"kind = 'trick'\nwhat = 'w'\n", "`kind` is cheat or fault"},
        {"kind = 'cheat'\nwhat = 'w'\nkernel = 'rmsnorm.cu'\n", "`changes` is missing"},
        {"kind = 'cheat'\nwhat = 'w'\nkernel = 'rmsnorm.cu'\nchanges = [['one', '1']]\n", "exactly once: one"},
        {"kind = 'cheat'\nwhat = 'w'\nkernel = 'rmsnorm.cu'\nchanges = [['two']]\n", "pairs of texts"},
        {"kind = 'cheat'\nwhat = 'w'\nkernel = 'rmsnorm.cu'\nchanges = []\ncaught_by = ['fauled: x']\n", "fauled"},
        {"kind = 'cheat'\nwhat = 'w'\ndevices = ['vgpu']\nkernel = 'rmsnorm.cu'\nchanges = []\n", "`why` must say"},
        {"kind = 'cheat'\nwhat = 'w'\nexpect = 'uncatchable'\nattack = 'zero_time'\n", "`why` must say"},
        {"kind = 'cheat'\nwhat = 'w'\ncaugth_by = []\n", "did you mean caught_by"},
    };
    for (const auto& c : cases) {
        write_atomically(folder / "cases" / "one.toml", std::string("[one]\n") + c.text);
        try {
            read_selftest(home.path());
            ADD_FAILURE() << c.text;
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find(c.says), std::string::npos) << c.text << "\n" << error.what();
        }
    }
}

class SelftestRun : public ::testing::Test {
 protected:
    SelftestRun()
        : builder_(make_builder({.workers = 2,
                                 .cache_folder = (folder_.path() / "builds").string(),
                                 .worker_command = {this_program(), "compile-worker"}})),
          catalogue_(RECUDA_SOURCE_DIR) {}

    std::vector<SelftestResult> run(const std::vector<SelftestCase>& cases, std::stop_token stop = {}) {
        SelftestOptions options{.seed = 7, .stop = std::move(stop)};
        options.make_device = [](DeviceKind) { return make_vgpu(); };
        return run_selftest(cases, catalogue_, *builder_, options);
    }

    static SelftestCase right() {
        std::vector<SelftestCase> cases = read_selftest(RECUDA_SOURCE_DIR);
        return *std::find_if(cases.begin(), cases.end(),
                             [](const SelftestCase& one) { return one.name == "right/rmsnorm.cu"; });
    }
    static SelftestCase cheat(std::string old, const std::string& by, std::vector<CaughtBy> caught_by) {
        SelftestCase one = right();
        one.name = "cheat";
        one.kind = Kind::cheat;
        one.caught_by = std::move(caught_by);
        if (!old.empty()) one.text.replace(one.text.find(old), old.size(), by);
        return one;
    }

    TemporaryFolder folder_;
    std::unique_ptr<Builder> builder_;
    Catalogue catalogue_;
};

TEST_F(SelftestRun, SaysWhereTheJudgeIsFooled) {
    SelftestCase refused = right();
    refused.text.replace(refused.text.find("+ eps"), 5, "+ 1");
    const std::vector<SelftestCase> cases{
        right(),
        cheat("", "", {{Outcome::wrong, ""}}),                             // nothing is wrong with it
        cheat("float squares", "double squares", {{Outcome::wrong, ""}}),  // it does not build as it should be caught
        cheat("    __syncthreads();\n", "", {{Outcome::faulted, "shared_race"}}),
        cheat("    __syncthreads();\n", "", {{Outcome::faulted, "misaligned"}}),
        refused,
    };
    const std::vector<SelftestResult> results = run(cases);
    ASSERT_EQ(results.size(), cases.size());
    EXPECT_TRUE(results[0].accepted && results[0].good());
    EXPECT_EQ(results[1].got, SelftestResult::Got::missed);
    EXPECT_EQ(results[1].why, "the judge finds it correct");
    EXPECT_FALSE(results[2].good()) << results[2].by;
    EXPECT_EQ(results[3].got, SelftestResult::Got::caught);
    EXPECT_EQ(results[3].by.substr(0, 35), "faulted: shared_race at rmsnorm.cu:");
    EXPECT_EQ(results[4].got, SelftestResult::Got::missed);
    EXPECT_NE(results[4].why.find("which is not what must catch it"), std::string::npos);
    EXPECT_FALSE(results[5].accepted || results[5].good());
}

TEST_F(SelftestRun, WhatCannotBeCaughtIsRunAndNamed) {
    SelftestCase one = cheat("", "", {});
    one.catchable = false;
    one.why = "nothing is wrong with it";
    const std::vector<SelftestCase> cases{one};
    const SelftestResult result = run(cases).front();
    EXPECT_EQ(result.got, SelftestResult::Got::missed);
    EXPECT_EQ(result.why, "nothing is wrong with it");
    EXPECT_TRUE(result.good());
}

TEST_F(SelftestRun, StoppedBeforeTheFirst) {
    std::stop_source source;
    source.request_stop();
    const std::vector<SelftestCase> cases{cheat("", "", {{Outcome::wrong, ""}})};
    const SelftestResult result = run(cases, source.get_token()).front();
    EXPECT_EQ(result.got, SelftestResult::Got::not_applicable);
    EXPECT_EQ(result.why, "stopped before its turn");
}

TEST_F(SelftestRun, UnknownAttackIsOurMistake) {
    const AttackTools tools{catalogue_, *builder_, [](DeviceKind) { return make_vgpu(); }};
    EXPECT_THROW(run_attack("zero_tim", tools), Error);
}

}  // namespace
}  // namespace recuda
