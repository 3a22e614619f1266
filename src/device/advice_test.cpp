// Advice comes where something is wasted, with the line and the reason, and nowhere else.
#include "device/advice.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "device/gpus.h"

namespace recuda {
namespace {

/// One line that does all there is.
Counters only(const LineCounters& line, uint32_t number = 17) {
    Counters counters;
    counters.LineCounters::add(line);
    counters.lines[number] = line;
    return counters;
}

std::string said(const Counters& counters, const std::string& kind, std::span<const LaunchShape> launches = {}) {
    for (const Advice& advice : advice_on(counters, launches, 132))
        if (advice.kind == kind)
            return (advice.line == 0 ? "" : "line " + std::to_string(advice.line) + ": ") + advice.text;
    return "";
}

LineCounters reading(uint64_t bytes_a_lane, uint64_t sectors_a_request) {
    LineCounters line;
    line.warp_instructions = 100;
    line.thread_instructions = 3200;
    line.global_read = {100, 3200 * bytes_a_lane, 100 * sectors_a_request};
    return line;
}

TEST(Advice, NamesWastedSectors) {
    EXPECT_EQ(said(only(reading(4, 12)), "sectors"),
              "line 17: 12.0 sectors a request where 4.0 would do: neighbouring threads read about 12 bytes apart; let "
              "them take neighbouring elements, or bring the tile through shared memory (it reads 100 % of the "
              "kernel's sectors)");
    EXPECT_NE(said(only(reading(4, 32)), "sectors").find("32 bytes or more apart"), std::string::npos);
    EXPECT_EQ(said(only(reading(4, 4)), "sectors"), "");
    EXPECT_EQ(said(only(reading(16, 16)), "sectors"), "");
    EXPECT_EQ(said(only(reading(4, 1)), "sectors"), "") << "one address for all lanes";
}

TEST(Advice, NamesNarrowAccesses) {
    EXPECT_EQ(said(only(reading(2, 2)), "narrow"),
              "line 17: a lane moves 2 bytes a request: 16 bytes (uint4, float4) would take an eighth of the requests, "
              "and more of them would be under way at once");
    EXPECT_NE(said(only(reading(4, 4)), "narrow"), "");
    EXPECT_EQ(said(only(reading(8, 8)), "narrow"), "");
}

TEST(Advice, NamesBankConflicts) {
    LineCounters line;
    line.warp_instructions = line.shared_requests = line.shared_ideal = 100;
    line.thread_instructions = 3200;
    line.shared_wavefronts = 800;
    EXPECT_EQ(said(only(line, 9), "banks"),
              "line 9: bank conflicts, 8.0-way: lanes of a request meet in one of the 32 banks; pad the row by one "
              "element, or swizzle the index");
    line.shared_wavefronts = 100;
    EXPECT_EQ(said(only(line, 9), "banks"), "");
}

TEST(Advice, NamesIdleLanesAndDivergence) {
    LineCounters line;
    line.warp_instructions = 100;
    line.thread_instructions = 1600;
    line.branches = 10;
    line.divergent_branches = 5;
    EXPECT_EQ(said(only(line, 30), "lanes"),
              "line 30: 16.0 of 32 lanes work here (100 % of all instructions): give the idle lanes work, or let whole "
              "warps leave");
    EXPECT_NE(said(only(line, 30), "divergence").find("line 30: 50 % of the branches split"), std::string::npos);
    line.thread_instructions = 3200;
    line.divergent_branches = 1;
    EXPECT_EQ(said(only(line, 30), "lanes") + said(only(line, 30), "divergence"), "");
}

TEST(Advice, NamesLocalMemoryAtomicsAndEarlyExits) {
    LineCounters line = reading(4, 4);
    line.local = {10, 1280, 40};
    EXPECT_NE(said(only(line), "local").find("line 17: 1280 bytes of local memory"), std::string::npos);
    line = {};
    line.warp_instructions = 10, line.thread_instructions = 320, line.atomics = 320, line.atomic_conflicts = 310;
    EXPECT_NE(said(only(line), "atomics").find("97 % of the lanes' atomics meet"), std::string::npos);
    line = {};
    line.warp_instructions = line.barrier_arrivals = 8, line.early_exits = 3;
    EXPECT_NE(said(only(line, 9), "early_exit").find("line 9: threads had returned before 3 of 8 arrivals"),
              std::string::npos);
}

TEST(Advice, NamesWhatLimitsOccupancy) {
    LaunchShape launch{.kernel = "k", .blocks = 10'000, .threads = 256, .registers = 128};
    launch.occupancy = occupancy_of({256, 128, 0}, gpu_named("h200"));
    EXPECT_EQ(said({}, "occupancy", {&launch, 1}),
              "k: registers limit an SM to 16 of 64 warps (25 %): 2 blocks of 256 threads with 128 registers a thread");
    launch.blocks = 100;
    EXPECT_EQ(said({}, "occupancy", {&launch, 1}), "") << "the grid fills no SM";
    EXPECT_EQ(said({}, "grid", {&launch, 1}), "k: 100 blocks for 132 SMs: the others have nothing to do at this size");
    launch.spill_bytes = 64;
    EXPECT_NE(said({}, "spills", {&launch, 1}).find("64 bytes a thread are spilled"), std::string::npos);
}

TEST(Counters, GoThroughJson) {
    Counters counters = only(reading(4, 12));
    counters.blocks = 3, counters.chain.global = 7, counters.working_warps = 2;
    counters.launches = {counters};
    const Counters again = counters_from_json(to_json(counters));
    EXPECT_EQ(again.global_read.sectors, 1200u);
    EXPECT_EQ(again.chain.global, 7);
    EXPECT_EQ(again.launches.at(0).blocks, 3u);
    EXPECT_THROW(counters_from_json(nlohmann::json::object()), Error);
}

}  // namespace
}  // namespace recuda
