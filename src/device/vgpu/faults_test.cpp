// Every faulty kernel of tests/fixtures/vgpu/faults.cu gets exactly the report it deserves.
#include "device/vgpu/faults.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "device/vgpu/fixture.h"

namespace recuda::vgpu {
namespace {

struct Case {
    friend void PrintTo(const Case& wanted, std::ostream* out) { *out << wanted.kernel; }
    const char* kernel;
    Check check;
    Dim3 grid, block;
    const char* buffer;
    Dim3 at_block, at_thread;
    int64_t byte_offset;
    uint32_t bytes;
    uint64_t count;
};

class Faults : public testing::TestWithParam<Case> {};

TEST_P(Faults, AreReportedOnceWithTheirPlace) {
    const Case& wanted = GetParam();
    Machine machine("faults");
    machine.buffer("x", iota<float>(96));
    machine.buffer("i", iota<int>(64));
    machine.unwritten("u", 128);
    machine.buffer("y", std::vector<float>(96));
    const std::string kernel = wanted.kernel;
    std::vector<Argument> arguments{machine.at("y")};
    if (kernel == "off_by_one") arguments = {machine.at("x"), machine.at("y"), Machine::value(32)};
    if (kernel == "before_buffer") arguments = {machine.at("x")};
    if (kernel == "misaligned") arguments = {machine.at("x"), machine.at("y")};
    if (kernel == "unwritten") arguments = {machine.at("u"), machine.at("y")};
    if (kernel == "traps") arguments = {machine.at("i")};
    if (kernel == "wild") arguments = {machine.at("i"), machine.at("y")};
    const Execution done = machine.run(kernel, wanted.grid, wanted.block, arguments);
    EXPECT_EQ(done.outcome, Outcome::faulted);
    ASSERT_EQ(done.reports.size(), 1u) << shown(done);
    const Report& report = done.reports[0];
    EXPECT_EQ(report.check, wanted.check) << shown(done);
    const auto here = marked_lines("faults.cu", kernel + " <- here"),
               other = marked_lines("faults.cu", kernel + " <- other");
    std::vector<uint32_t> lines = here;
    lines.insert(lines.end(), other.begin(), other.end());
    EXPECT_THAT(lines, testing::Contains(report.line)) << report.message;
    if (report.other) {
        EXPECT_THAT(lines, testing::Contains(report.other->line));
    }
    if (report.check == Check::shared_race) {
        ASSERT_TRUE(report.other);
        EXPECT_FALSE(report.thread == report.other->thread);
        EXPECT_EQ(report.line != report.other->line, !other.empty());
    }
    EXPECT_EQ(report.file, "faults.cu");
    EXPECT_EQ(report.kernel, kernel);
    EXPECT_EQ(report.buffer, wanted.buffer);
    EXPECT_EQ(report.block, wanted.at_block);
    EXPECT_EQ(report.thread, wanted.at_thread) << report.thread.x;
    EXPECT_EQ(report.byte_offset, wanted.byte_offset);
    EXPECT_EQ(report.bytes, wanted.bytes);
    EXPECT_EQ(report.count, wanted.count);
    EXPECT_FALSE(report.message.empty());
}

constexpr Dim3 kFirst{0, 0, 0};

INSTANTIATE_TEST_SUITE_P(
    Kernels, Faults,
    testing::Values(Case{"off_by_one", Check::out_of_bounds, {3}, {32}, "x", {2, 0, 0}, kFirst, 384, 4, 1},
                    Case{"before_buffer", Check::out_of_bounds, {1}, {32}, "x", kFirst, kFirst, -8, 4, 2},
                    Case{"misaligned", Check::misaligned, {2}, {8}, "x", kFirst, kFirst, 4, 8, 16},
                    Case{"unwritten", Check::uninitialised, {1}, {32}, "u", kFirst, kFirst, 0, 4, 32},
                    Case{"unwritten_shared", Check::uninitialised, {1}, {64}, "tile", kFirst, {40, 0, 0}, 160, 4, 1},
                    Case{"past_shared", Check::out_of_bounds, {1}, {64}, "tile", kFirst, {63, 0, 0}, 256, 4, 1},
                    Case{"missing_barrier", Check::shared_race, {1}, {64}, "tile", kFirst, {31, 0, 0}, 128, 4, 1},
                    Case{"early_overwrite", Check::shared_race, {1}, {64}, "tile", kFirst, {31, 0, 0}, 0, 2, 1},
                    Case{"within_a_warp", Check::shared_race, {1}, {32}, "tile", kFirst, kFirst, 4, 4, 1},
                    Case{"unfenced", Check::shared_race, {1}, {64}, "data", kFirst, {32, 0, 0}, 0, 4, 1},
                    Case{"two_writers", Check::shared_race, {1}, {64}, "word", kFirst, {1, 0, 0}, 0, 4, 1},
                    Case{"endless", Check::runaway, {1}, {64}, "", kFirst, kFirst, 0, 0, 1},
                    Case{"endless_work", Check::runaway, {1}, {32}, "", kFirst, kFirst, 0, 0, 1},
                    Case{"half_a_warp", Check::divergent_barrier, {1}, {64}, "", kFirst, kFirst, 0, 0, 16},
                    Case{"two_places", Check::divergent_barrier, {1}, {64}, "", kFirst, kFirst, 0, 0, 32},
                    Case{"absent", Check::absent_lane, {1}, {32}, "", kFirst, kFirst, 0, 0, 8},
                    Case{"stuck", Check::deadlock, {1}, {64}, "", kFirst, kFirst, 0, 0, 32},
                    Case{"traps", Check::illegal_instruction, {1}, {32}, "", kFirst, {7, 0, 0}, 0, 0, 1},
                    Case{"wild", Check::out_of_bounds, {1}, {32}, "", kFirst, {4, 0, 0}, 0, 4, 1}),
    [](const testing::TestParamInfo<Case>& info) { return std::string(info.param.kernel); });

TEST(Barriers, AreOneForAWarp) {
    const auto run = [](const std::string& number) {
        Machine machine(
            ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %r<4>;\n"
            "mov.u32 %r1, %tid.x;\n" +
                number + "bar.sync %r2, 32;\nret;\n}\n",
            "k.ptx", {});
        return machine.run("k", {1}, {64}, {});
    };
    EXPECT_EQ(run("shr.u32 %r2, %r1, 5;\n").outcome, Outcome::correct);
    const Execution done = run("and.b32 %r2, %r1, 3;\n");
    ASSERT_EQ(done.reports.size(), 1u) << shown(done);
    EXPECT_EQ(done.reports[0].check, Check::divergent_barrier);
    EXPECT_THAT(done.reports[0].message, testing::HasSubstr("lanes 0x11111111 of a warp come to barrier 0"));
}

TEST(FaultLog, MergesByCheckAndLineAndShowsTheFirst) {
    FaultLog one, two;
    Report report;
    report.line = 5;
    report.count = 2;
    report.message = "later";
    one.add(report, 7, 3);
    report.message = "first";
    two.add(report, 2, 9);
    report.line = 6;
    two.add(report, 0, 0);
    one.merge(two);
    const auto reports = one.reports();
    ASSERT_EQ(reports.size(), 2u);
    EXPECT_EQ(reports[1].message, "first");
    EXPECT_EQ(reports[1].count, 4u);
}

TEST(PlainName, ShowsTheVariable) {
    EXPECT_EQ(plain_name("_ZZ3rmsE7partial"), "partial");
    EXPECT_EQ(plain_name("_ZZ4poolILi256EEvPKfE4tile_0"), "tile");
    EXPECT_EQ(plain_name("_ZL5table"), "table");
    EXPECT_EQ(plain_name("line"), "line");
}

}  // namespace
}  // namespace recuda::vgpu
