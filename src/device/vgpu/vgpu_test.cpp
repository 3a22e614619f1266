// Whole kernels, compiled from tests/fixtures/vgpu/kernels.cu, give the right values and no report.
#include <gmock/gmock.h>

#include <bit>
#include <cmath>

#include "base/error.h"
#include "device/vgpu/fixture.h"
#include "device/vgpu/memory/global.h"

namespace recuda::vgpu {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

uint16_t bfloat(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
float wide(uint16_t value) { return std::bit_cast<float>(uint32_t{value} << 16); }

TEST(Vgpu, AddsVectorsAndCountsTraffic) {
    Machine machine("kernels");
    machine.buffer("a", iota<float>(100));
    machine.buffer("b", iota<float>(100, 1000));
    machine.unwritten("c", 400);
    const Execution done =
        machine.run("add", {4}, {32}, {machine.at("a"), machine.at("b"), machine.at("c"), Machine::value(100)});
    ASSERT_EQ(done.outcome, Outcome::correct) << shown(done);
    std::vector<float> wanted;
    for (int i = 0; i < 100; ++i) wanted.push_back(static_cast<float>(2 * i + 1000));
    EXPECT_THAT(machine.values<float>("c", 100), ElementsAreArray(wanted));

    const Counters& counted = *done.counters;
    EXPECT_EQ(counted.blocks, 4u);
    EXPECT_EQ(counted.threads, 128u);
    EXPECT_EQ(counted.global_read.requests, 8u);  // two loads of four warps
    EXPECT_EQ(counted.global_read.bytes, 800u);
    EXPECT_EQ(counted.global_read.sectors, 26u);  // 100 floats are 12.5 sectors, twice
    EXPECT_EQ(counted.global_write.sectors, 13u);
    const LineCounters& line = counted.lines.at(7);  // c[i] = a[i] + b[i]
    EXPECT_EQ(line.global_read.bytes, 800u);
    EXPECT_EQ(line.global_write.bytes, 400u);
}

TEST(Vgpu, TellsWhichInputsWereStoredTo) {
    Machine machine("kernels");
    machine.buffer("a", iota<float>(32));
    machine.buffer("b", std::vector<float>(32));
    const Argument a = machine.at("a"), b = machine.at("b");
    const auto stored = [&](const Argument& to, std::vector<BufferId> inputs) {
        return machine.run("add", {1}, {32}, {a, b, to, Machine::value(32)}, 0, {.inputs = std::move(inputs)}).stored;
    };
    // Adding zero leaves every bit as it was.
    EXPECT_THAT(stored(a, {a.buffer, b.buffer}), ElementsAreArray({a.buffer}));
    EXPECT_TRUE(stored(a, {b.buffer}).empty());
    EXPECT_TRUE(stored(a, {}).empty());
    EXPECT_THAT(machine.values<float>("a", 32), ElementsAreArray(iota<float>(32)));
}

TEST(Vgpu, NormalisesRows) {
    constexpr int kRows = 5, kWidth = 700;
    std::vector<uint16_t> x, w;
    for (int i = 0; i < kRows * kWidth; ++i) x.push_back(bfloat(std::sin(static_cast<float>(i))));
    for (int i = 0; i < kWidth; ++i) w.push_back(bfloat(1.0f + 0.001f * static_cast<float>(i)));
    Machine machine("kernels");
    machine.buffer("x", x);
    machine.buffer("w", w);
    machine.unwritten("y", x.size() * 2);
    const Execution done =
        machine.run("rms", {kRows}, {256},
                    {machine.at("x"), machine.at("w"), machine.at("y"), Machine::value(1e-5f), Machine::value(kWidth)});
    ASSERT_EQ(done.outcome, Outcome::correct) << shown(done);
    const auto y = machine.values<uint16_t>("y", x.size());
    for (int row = 0; row < kRows; ++row) {
        double sum = 0;
        for (int i = 0; i < kWidth; ++i) sum += std::pow(wide(x[row * kWidth + i]), 2);
        const double scale = 1 / std::sqrt(sum / kWidth + 1e-5);
        for (int i = 0; i < kWidth; ++i) {
            const double wanted = wide(x[row * kWidth + i]) * scale * wide(w[i]);
            ASSERT_NEAR(wide(y[row * kWidth + i]), wanted, std::fabs(wanted) * 0.004 + 1e-9) << row << " " << i;
        }
    }
    EXPECT_EQ(done.counters->barriers, uint64_t{kRows});
    EXPECT_EQ(done.counters->global_write.bytes, x.size() * 2);
}

TEST(Vgpu, ThreadsOfTwoDimensionsHaveCudasOrder) {
    Machine machine("kernels");
    machine.unwritten("y", 120 * 4);
    const Execution done = machine.run("tiles", {3, 2}, {4, 5}, {machine.at("y"), Machine::value(12)});
    ASSERT_EQ(done.outcome, Outcome::correct) << shown(done);
    std::vector<int> wanted;
    for (int r = 0; r < 10; ++r)
        for (int c = 0; c < 12; ++c) wanted.push_back(1000 * (r / 5) + 100 * (c / 4) + 10 * (r % 5) + c % 4);
    EXPECT_THAT(machine.values<int>("y", 120), ElementsAreArray(wanted));
}

TEST(Vgpu, DynamicSharedMemoryHasTheSizeOfTheLaunch) {
    Machine machine("kernels");
    machine.buffer("x", iota<int>(64));
    machine.buffer("y", std::vector<int>(64));
    const Execution done = machine.run("reverse", {1}, {64}, {machine.at("x"), machine.at("y")}, 256);
    ASSERT_EQ(done.outcome, Outcome::correct) << shown(done);
    EXPECT_EQ(machine.values<int>("y", 64)[0], 63);
    const Execution less = machine.run("reverse", {1}, {64}, {machine.at("x"), machine.at("y")}, 252);
    ASSERT_EQ(less.reports.size(), 1u) << shown(less);
    EXPECT_EQ(less.reports[0].check, Check::out_of_bounds);
    EXPECT_EQ(less.reports[0].buffer, "line");
    EXPECT_EQ(less.reports[0].byte_offset, 252);
}

TEST(Vgpu, LanesDivergeAndLeave) {
    Machine machine("kernels");
    machine.buffer("steps", std::vector<unsigned>(128, 9999));
    const Execution done = machine.run("collatz", {2}, {64}, {machine.at("steps")});
    ASSERT_EQ(done.outcome, Outcome::correct) << shown(done);
    std::vector<unsigned> wanted;
    for (unsigned i = 0; i < 128; ++i) {
        unsigned count = 0;
        for (unsigned n = i + 1; n != 1; ++count) n = n % 2 ? 3 * n + 1 : n / 2;
        wanted.push_back(i % 7 == 3 ? 9999 : count);
    }
    EXPECT_THAT(machine.values<unsigned>("steps", 128), ElementsAreArray(wanted));
}

TEST(Vgpu, FunctionsCallThemselves) {
    Machine machine("kernels");
    machine.unwritten("y", 40 * 4);
    const Execution done = machine.run("recursion", {1}, {40}, {machine.at("y")});
    ASSERT_EQ(done.outcome, Outcome::correct) << shown(done);
    const unsigned fibonacci[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55};
    const auto y = machine.values<unsigned>("y", 40);
    for (unsigned i = 0; i < 40; ++i) EXPECT_EQ(y[i], fibonacci[i % 11]);
}

TEST(Vgpu, NamedBarriersOrderProducerAndConsumer) {
    Machine machine("kernels");
    machine.unwritten("y", 96 * 4);
    for (uint64_t schedule : {0, 1, 2, 3}) {
        const Execution done = machine.run("pipeline", {1}, {64}, {machine.at("y")}, 0, {.schedule = schedule});
        ASSERT_EQ(done.outcome, Outcome::correct) << shown(done);
        const auto y = machine.values<int>("y", 96);
        for (int i = 0; i < 96; ++i) EXPECT_EQ(y[i], i / 32 * 100 + 31 - i % 32);
    }
}

TEST(Vgpu, LanesAndBlocksWaitForEachOther) {
    Machine machine("kernels");
    machine.buffer("lock", std::vector<int>{0});
    machine.buffer("value", std::vector<int>{0});
    const Execution locked = machine.run("locked", {6}, {48}, {machine.at("lock"), machine.at("value")});
    ASSERT_EQ(locked.outcome, Outcome::correct) << shown(locked);
    EXPECT_EQ(machine.values<int>("value", 1)[0], 6 * 48);

    machine.buffer("arrived", std::vector<int>{0});
    machine.unwritten("y", 40 * 32 * 4);
    const Execution met = machine.run("meet", {40}, {32}, {machine.at("arrived"), machine.at("y")});
    ASSERT_EQ(met.outcome, Outcome::correct) << shown(met);
    EXPECT_THAT(machine.values<int>("y", 40 * 32), testing::Each(40));
}

TEST(Vgpu, LocksAndFencedFlagsOrderPlainData) {
    for (uint64_t schedule : {0, 1, 2, 3, 4, 5}) {
        Machine machine("kernels");
        machine.unwritten("y", 64 * 4);
        const Execution done = machine.run("guarded", {2}, {64}, {machine.at("y")}, 0, {.schedule = schedule});
        ASSERT_EQ(done.outcome, Outcome::correct) << shown(done);
        const auto y = machine.values<int>("y", 64);
        for (int i = 0; i < 64; ++i) EXPECT_EQ(y[i], i < 32 ? 63 * 32 : 3 * (i - 32));
    }
}

TEST(Vgpu, Prints) {
    Machine machine("kernels");
    const Execution done = machine.run("says", {1}, {32}, {Machine::value(2)});
    ASSERT_EQ(done.outcome, Outcome::correct) << shown(done);
    EXPECT_EQ(done.printed, "thread 0 of block:  0.00 1099511627776%\nthread 1 of block:  0.50 1099511627776%\n");
}

TEST(Vgpu, RegistersThatAreOnlyCopiedUnwrittenAreNoFault) {
    for (const int n : {5, 32, 70, 96}) {
        Machine machine("kernels");
        machine.buffer("x", iota<float>(4 * 96));
        machine.unwritten("y", 96 * 16);
        const Execution done = machine.run("ragged", {1}, {32}, {machine.at("x"), machine.at("y"), Machine::value(n)});
        ASSERT_EQ(done.outcome, Outcome::correct) << n << shown(done);
        const auto y = machine.values<float>("y", 4 * n);
        for (int i = 0; i < 4 * n; ++i) EXPECT_EQ(y[i], static_cast<float>(i + (i % 4 == 0)));
    }
}

TEST(Vgpu, CountsBankConflicts) {
    struct {
        int stride;
        uint64_t wavefronts;  // of one request
    } const cases[] = {{1, 1}, {2, 2}, {8, 8}, {32, 32}, {33, 1}};
    for (const auto& [stride, wavefronts] : cases) {
        Machine machine("kernels");
        machine.buffer("x", iota<float>(32 * 33));
        machine.unwritten("y", 128);
        const Execution done =
            machine.run("strided", {1}, {32}, {machine.at("x"), machine.at("y"), Machine::value(stride)});
        ASSERT_EQ(done.outcome, Outcome::correct) << shown(done);
        EXPECT_EQ(done.counters->shared_requests, 2u);
        EXPECT_EQ(done.counters->shared_wavefronts, 2 * wavefronts) << stride;
        EXPECT_EQ(machine.values<float>("y", 32)[31], static_cast<float>(31 * stride));
    }
}

TEST(Vgpu, RefusesLaunchesThatCannotBe) {
    Machine machine("kernels", {.target = "sm_86"});
    machine.buffer("y", std::vector<int>(64));
    const auto y = machine.at("y");
    struct {
        const char* entry;
        Dim3 block;
        std::vector<Argument> arguments;
        uint32_t shared;
        const char* why;
    } const cases[] = {
        {"tiles", {1025}, {y, Machine::value(1)}, 0, "1025 threads"},
        {"tiles", {32}, {y}, 0, "1 arguments for 2 parameters"},
        {"tiles", {32}, {y, Machine::value(1ll)}, 0, "argument 2"},
        {"reverse", {32}, {y, y}, 100 * 1024, "shared memory"},
        {"nobody", {32}, {}, 0, "nobody"},
    };
    for (const auto& [entry, block, arguments, shared, why] : cases) {
        const Execution refused = machine.run(entry, {1}, block, arguments, shared);
        EXPECT_EQ(refused.outcome, Outcome::launch_refused) << shown(refused);
        EXPECT_THAT(refused.log, HasSubstr(why));
    }
}

TEST(Vgpu, UnknownInstructionsAreUnsupportedWhereTheyAreLaunched) {
    const std::string text =
        ".version 99.0\n.target sm_90\n.address_size 64\n"  // newer than anybody knows
        ".visible .entry odd()\n{\n.reg .b32 %r<2>;\nfrobnicate.u32 %r1, 3;\nret;\n}\n"
        ".visible .entry even()\n{\nret;\n}\n";
    Machine machine(text, "hand.ptx", {});
    EXPECT_EQ(machine.run("even", {1}, {32}, {}).outcome, Outcome::correct);
    const Execution odd = machine.run("odd", {1}, {32}, {});
    EXPECT_EQ(odd.outcome, Outcome::unsupported);
    EXPECT_THAT(odd.log, testing::AllOf(HasSubstr("frobnicate.u32"), HasSubstr("ptx line 7")));
}

TEST(Vgpu, ModulesThatAreNotPtxDoNotLoad) {
    EXPECT_THROW(Machine("int main() { return 0; }", "main.ptx", {}), Error);
    EXPECT_THROW(make_vgpu({.target = "sm_42"}), Error);
}

TEST(Vgpu, ADeadlineEndsALongRun) {
    Machine machine("faults", {.fuel = ~0ull >> 1});
    machine.buffer("y", std::vector<unsigned>(32));
    const Execution done = machine.run("endless_work", {1}, {32}, {machine.at("y")}, 0, {.deadline_s = 0.05});
    EXPECT_EQ(done.outcome, Outcome::timed_out) << shown(done);
}

TEST(Vgpu, UsesAddressesOfFreedBuffersAgain) {
    GlobalMemory memory(3);
    const Buffer& kept = memory.allocate("kept", 256);
    for (int i = 0; i < 100'000; ++i) memory.free(memory.allocate("passing", 1 << 12).id);
    EXPECT_LT(memory.allocate("last", 256).base - kept.base, uint64_t{1} << 30);
}

}  // namespace
}  // namespace recuda::vgpu
