// Races in global memory: what is reported, whatever the schedule and the number of host threads. tests/races has the
// patterns of real kernels.
#include "device/vgpu/memory/global_race.h"

#include <gmock/gmock.h>

#include "device/vgpu/fixture.h"

namespace recuda::vgpu {
namespace {

using testing::HasSubstr;

/// A kernel of x and y; %rd1 and %rd2 are their addresses, %rd3 and %rd4 the thread's own words, %r1 the thread, %r2
/// the block, %r3 the thread's number in the grid. Line 1 of the body is kFirstLine of the file.
constexpr uint32_t kFirstLine = 22;
std::string kernel(const std::string& body) {
    return R"(.version 8.7
.target sm_90
.address_size 64
.global .align 4 .u32 total;
.visible .entry k(.param .u64 x, .param .u64 y)
{
.reg .pred %p<4>;
.reg .b16 %h<4>;
.reg .b32 %r<9>;
.reg .b64 %rd<9>;
ld.param.u64 %rd1, [x];
ld.param.u64 %rd2, [y];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mov.u32 %r4, %ntid.x;
mad.lo.u32 %r3, %r2, %r4, %r1;
mul.wide.u32 %rd3, %r3, 4;
add.s64 %rd4, %rd2, %rd3;
add.s64 %rd3, %rd1, %rd3;
setp.eq.u32 %p1, %r2, 0;
setp.eq.u32 %p2, %r1, 0;
)" + body + "ret;\n}\n";
}

struct How {
    uint64_t schedule;
    unsigned threads;
};

class GlobalRace : public testing::TestWithParam<How> {
 protected:
    Execution run(const std::string& body, uint32_t blocks = 4, uint32_t threads = 64) {
        machine_ =
            std::make_unique<Machine>(kernel(body), "k.ptx", VgpuOptions{.seed = 3, .threads = GetParam().threads});
        machine_->buffer("x", iota<int>(512));
        machine_->buffer("y", std::vector<int>(512));
        return again(blocks, threads);
    }
    Execution again(uint32_t blocks, uint32_t threads) {
        return machine_->run("k", {blocks}, {threads}, {machine_->at("x"), machine_->at("y")}, 0,
                             {.schedule = GetParam().schedule});
    }
    std::unique_ptr<Machine> machine_;
};

TEST_P(GlobalRace, NamesBothAccesses) {
    const Execution done = run("ld.global.u32 %r5, [%rd3+256];\nst.global.u32 [%rd3], %r5;\n", 2);
    ASSERT_EQ(done.outcome, Outcome::faulted);
    ASSERT_EQ(done.reports.size(), 1u) << shown(done);
    const Report& report = done.reports[0];
    EXPECT_EQ(report.check, Check::global_race);
    EXPECT_EQ(report.line, kFirstLine + 1);
    EXPECT_TRUE(report.block == (Dim3{1, 0, 0})) << report.block.x;
    EXPECT_EQ(report.buffer, "x");
    EXPECT_EQ(report.bytes, 4u);
    EXPECT_EQ(report.byte_offset, 256 + 4 * report.thread.x);
    ASSERT_TRUE(report.other);
    EXPECT_EQ(report.other->line, kFirstLine);
    EXPECT_TRUE(report.other->block == (Dim3{0, 0, 0}));
    EXPECT_EQ(report.other->thread.x, report.thread.x);
    EXPECT_THAT(report.message, HasSubstr("different blocks"));
}

struct Case {
    const char* name;
    const char* body;
    const char* says;  // part of the message; null: no race
};

const Case kCases[] = {
    {"own words", "st.global.u32 [%rd3], %r1;\nld.global.u32 %r5, [%rd3];\nst.global.u32 [%rd3], %r5;\n", nullptr},
    {"one word, one value", "st.global.u32 [%rd1], 7;\n", nullptr},
    {"one word, lanes' values", "st.global.u32 [%rd1], %r1;\n", "both write"},
    {"one word, blocks' values", "@%p2 st.global.u32 [%rd1], %r2;\n", "both write"},
    {"atomics", "red.global.add.u32 [%rd1], 1;\n", nullptr},
    {"an atomic and a load", "red.global.add.u32 [%rd1], 1;\nld.global.u32 %r5, [%rd1];\n",
     "only one of them is atomic"},
    {"an atomic and a volatile load", "red.global.add.u32 [%rd1], 1;\nld.volatile.global.u32 %r5, [%rd1];\n", nullptr},
    {"a plain start for atomics", "@%p1 st.global.u32 [%rd1], %r1;\nbar.sync 0;\nred.global.add.u32 [%rd1], 1;\n",
     "access byte 0"},
    {"atomics of the block", "red.relaxed.cta.global.add.u32 [%rd1], 1;\n", "no more than its block"},
    {"atomics of own blocks",
     "mul.wide.u32 %rd5, %r2, 4;\nadd.s64 %rd5, %rd1, %rd5;\nred.relaxed.cta.global.add.u32 [%rd5], 1;\n", nullptr},
    {"bytes side by side",
     "cvt.u64.u32 %rd5, %r3;\nadd.s64 %rd5, %rd1, %rd5;\ncvt.u16.u32 %h1, %r3;\nst.global.u8 [%rd5], %h1;\n", nullptr},
    {"a byte of another's word",
     "cvt.u16.u32 %h1, %r3;\nadd.u16 %h1, %h1, 77;\n@%p1 st.global.u32 [%rd3], %r1;\n"
     "@!%p1 st.global.u8 [%rd3+-253], %h1;\n",
     "access byte"},
    {"a vector and a word behind it",
     "mul.wide.u32 %rd5, %r1, 16;\nadd.s64 %rd5, %rd1, %rd5;\n@%p1 st.global.v4.u32 [%rd5], {%r1, %r1, %r1, %r1};\n"
     "@!%p1 st.global.u32 [%rd3+768], %r1;\n",
     nullptr},
    {"a vector and a word in it",
     "mul.wide.u32 %rd5, %r1, 16;\nadd.s64 %rd5, %rd1, %rd5;\n@%p1 st.global.v4.u32 [%rd5], {%r3, %r3, %r3, %r3};\n"
     "@!%p1 st.global.u32 [%rd3+-4], %r3;\n",
     "both write"},
    {"lanes of a warp",
     "xor.b32 %r5, %r3, 1;\nmul.wide.u32 %rd5, %r5, 4;\nadd.s64 %rd5, %rd1, %rd5;\n"
     "st.global.u32 [%rd3], %r1;\nld.global.u32 %r6, [%rd5];\n",
     "there is no barrier"},
    {"lanes of a warp in order",
     "xor.b32 %r5, %r3, 1;\nmul.wide.u32 %rd5, %r5, 4;\nadd.s64 %rd5, %rd1, %rd5;\n"
     "st.global.u32 [%rd3], %r1;\nbar.warp.sync -1;\nld.global.u32 %r6, [%rd5];\n",
     nullptr},
    {"warps of a block in order",
     "xor.b32 %r5, %r3, 33;\nmul.wide.u32 %rd5, %r5, 4;\nadd.s64 %rd5, %rd1, %rd5;\n"
     "st.global.u32 [%rd3], %r1;\nbar.sync 0;\nld.global.u32 %r6, [%rd5];\n",
     nullptr},
    {"an address from memory",
     "add.s64 %rd5, %rd2, 1024;\nmul.wide.u32 %rd6, %r3, 8;\nadd.s64 %rd5, %rd2, %rd6;\n"
     "st.global.u64 [%rd5], %rd1;\nld.global.u64 %rd7, [%rd5];\nst.global.u32 [%rd7], %r3;\n",
     "buffer x"},
    {"a variable of the module", "st.global.u32 [total], %r3;\n", "buffer total"},
    {"reads by many", "ld.global.u32 %r5, [%rd1];\n@!%p1 bra DONE;\n@%p2 st.global.u32 [%rd1], %r5;\nDONE:\n",
     "one of them writes"},
};

TEST_P(GlobalRace, IsFoundWhereNothingOrders) {
    for (const Case& one : kCases) {
        const Execution done = run(one.body);
        if (one.says == nullptr) {
            EXPECT_EQ(done.outcome, Outcome::correct) << one.name << ": " << shown(done);
            continue;
        }
        ASSERT_EQ(done.outcome, Outcome::faulted) << one.name << ": " << shown(done);
        for (const Report& report : done.reports) {
            EXPECT_EQ(report.check, Check::global_race) << one.name << ": " << shown(done);
            EXPECT_THAT(report.message, HasSubstr(one.says)) << one.name;
        }
    }
}

/// Block 0 writes a word for every thread; the others wait for its flag and read them.
std::string message(const std::string& write_flag, const std::string& read_flag,
                    const std::string& meet = "bar.sync 0;\n") {
    return "@!%p1 bra READER;\nst.global.u32 [%rd3], %r1;\n" + meet + "@!%p2 bra DONE;\n" + write_flag +
           "bra DONE;\nREADER:\n@!%p2 bra MEET;\nAGAIN:\n" + read_flag + "MEET:\n" + meet +
           "mul.wide.u32 %rd5, %r1, 4;\nadd.s64 %rd5, %rd1, %rd5;\nld.global.u32 %r6, [%rd5];\n"
           "st.global.u32 [%rd4], %r6;\nDONE:\n";
}
std::string until_set(const std::string& load) { return load + "setp.eq.u32 %p3, %r5, 0;\n@%p3 bra AGAIN;\n"; }

TEST_P(GlobalRace, KnowsFlags) {
    const std::string volatile_load = until_set("ld.volatile.global.u32 %r5, [%rd2];\n"),
                      acquire = until_set("ld.acquire.gpu.global.u32 %r5, [%rd2];\n"),
                      block_acquire = until_set("ld.acquire.cta.global.u32 %r5, [%rd2];\n"),
                      add = until_set("atom.global.add.u32 %r5, [%rd2], 0;\n");
    const std::string fence = "fence.acq_rel.gpu;\n", wide = "membar.gl;\n", narrow = "membar.cta;\n";
    const std::string volatile_store = "st.volatile.global.u32 [%rd2], 1;\n",
                      release = "st.release.gpu.global.u32 [%rd2], 1;\n",
                      block_release = "st.release.cta.global.u32 [%rd2], 1;\n",
                      add_one = "red.global.add.u32 [%rd2], 1;\n";
    struct Handed {
        std::string write, read;
        const char* says;
    };
    const char* const kMissing = "a release by one block";
    for (const Handed& one :
         {Handed{wide + volatile_store, volatile_load + wide, nullptr}, Handed{fence + add_one, add + fence, nullptr},
          Handed{release, acquire, nullptr}, Handed{release, volatile_load + fence, nullptr},
          Handed{fence + add_one, acquire, nullptr}, Handed{volatile_store, volatile_load + wide, kMissing},
          Handed{wide + volatile_store, volatile_load, "without a fence behind it"},
          Handed{narrow + volatile_store, volatile_load + wide, kMissing},
          Handed{wide + volatile_store, volatile_load + narrow, "without a fence behind it"},
          Handed{volatile_store + wide, volatile_load + wide, kMissing},
          Handed{release, block_acquire, "no more than its block"},
          Handed{block_release, acquire, "no more than its block"}}) {
        const Execution done = run(message(one.write, one.read), 2);
        const std::string name = one.write + one.read;
        EXPECT_EQ(done.outcome, one.says == nullptr ? Outcome::correct : Outcome::faulted) << name << shown(done);
        for (const Report& report : done.reports) EXPECT_THAT(report.message, HasSubstr(one.says)) << name;
    }
}

TEST_P(GlobalRace, LeavesFlagsToTheLanesThatSawThem) {
    const std::string write = "fence.acq_rel.gpu;\nst.volatile.global.u32 [%rd2], 1;\n",
                      read = until_set("ld.volatile.global.u32 %r5, [%rd2];\n") + "fence.acq_rel.gpu;\n";
    const auto outcome = [&](const std::string& meet) {
        machine_ = std::make_unique<Machine>(kernel(message(write, read, meet)), "k.ptx",
                                             VgpuOptions{.seed = 3, .threads = GetParam().threads});
        machine_->buffer("x", iota<int>(512));
        machine_->buffer("y", std::vector<int>(512));
        return again(2, 32).outcome;
    };
    EXPECT_EQ(outcome("bar.warp.sync -1;\n"), Outcome::correct);
    EXPECT_EQ(outcome(""), Outcome::faulted);
}

/// In what Triton compiles all threads load an element and one of them stores it.
TEST_P(GlobalRace, IsNoneWithReplicasOfTriton) {
    struct Program {
        const char* name;
        std::string body;
        bool triton, clean;
    };
    const std::string element = "mul.wide.u32 %rd5, %r2, 4;\nadd.s64 %rd5, %rd1, %rd5;\n",
                      load = "ld.global.u32 %r5, [%rd5];\n", twice = "shl.b32 %r6, %r5, 1;\n",
                      store = "@%p2 st.global.u32 [%rd5], %r6;\n",
                      small =
                          "and.b32 %r7, %r1, 15;\nmad.lo.u32 %r7, %r2, 16, %r7;\nmul.wide.u32 %rd5, %r7, 4;\n"
                          "add.s64 %rd5, %rd1, %rd5;\nsetp.lt.u32 %p2, %r1, 16;\n",
                      lanes =
                          "and.b32 %r7, %r1, 31;\nmad.lo.u32 %r7, %r2, 32, %r7;\nmul.wide.u32 %rd5, %r7, 4;\n"
                          "add.s64 %rd5, %rd1, %rd5;\nsetp.lt.u32 %p2, %r1, 32;\n";
    for (const Program& one :
         {Program{"a scalar", element + load + twice + store, true, true},
          Program{"a scalar of CUDA", element + load + twice + store, false, false},
          Program{"16 elements", small + load + twice + store, true, true},
          Program{"32 elements", lanes + load + twice + store, true, true},
          Program{"a load behind the store", element + load + twice + store + load, true, false},
          Program{"a store alone", element + store + load, true, false},
          Program{"all programs' element", "mov.u64 %rd5, %rd1;\n" + load + twice + store, true, false},
          Program{"a neighbour's element", element + "ld.global.u32 %r5, [%rd5+4];\n" + twice + store, true, false}}) {
        std::string text = kernel("mov.u32 %r6, %r3;\n" + one.body);
        if (one.triton) {
            text.insert(text.find("\n{\n") + 1, ".reqntid 128\n");
            text += ".file 1 \"k.py\"\n";
        }
        machine_ = std::make_unique<Machine>(text, "k.ptx", VgpuOptions{.seed = 3, .threads = GetParam().threads});
        machine_->buffer("x", iota<int>(512));
        machine_->buffer("y", std::vector<int>(512));
        const Execution done = again(4, 128);
        EXPECT_EQ(done.outcome, one.clean ? Outcome::correct : Outcome::faulted) << one.name << ": " << shown(done);
        for (const Report& report : done.reports) EXPECT_EQ(report.check, Check::global_race) << shown(done);
    }
}

TEST_P(GlobalRace, IsNoneBetweenLaunches) {
    const std::string body =
        "setp.lt.u32 %p3, %r2, 2;\n@%p3 ld.global.u32 %r5, [%rd3+256];\n@!%p3 st.global.u32 [%rd3], 5;\n";
    ASSERT_EQ(run("st.global.u32 [%rd3], %r1;\n", 1).outcome, Outcome::correct);
    for (uint32_t turn = 0; turn < 3; ++turn) EXPECT_EQ(again(1, 64 + 32 * turn).outcome, Outcome::correct) << turn;
    EXPECT_EQ(run(body, 4).outcome, Outcome::faulted);
    EXPECT_EQ(again(1, 64).outcome, Outcome::correct) << "after a fault";
}

TEST_P(GlobalRace, HidesWhatFollowsFromIt) {
    // Block 1 waits for a flag that block 0, stopped by its race with block 2, never sets.
    const Execution done =
        run("setp.eq.u32 %p3, %r2, 1;\n@%p3 bra WAIT;\nst.global.u32 [%rd1], %r3;\nbar.sync 0;\n"
            "@%p1 st.volatile.global.u32 [%rd2], 1;\nbra DONE;\nWAIT:\nld.volatile.global.u32 %r5, [%rd2];\n"
            "setp.eq.u32 %p3, %r5, 0;\n@%p3 bra WAIT;\nDONE:\n",
            3);
    ASSERT_EQ(done.outcome, Outcome::faulted);
    for (const Report& report : done.reports) EXPECT_EQ(report.check, Check::global_race) << shown(done);
}

TEST_P(GlobalRace, IsFoundInWhatIsReadTooEarly) {
    machine_ = std::make_unique<Machine>(
        kernel("@%p1 bra WRITE;\nmul.wide.u32 %rd5, %r1, 4;\nadd.s64 %rd5, %rd1, %rd5;\nld.global.u32 %r5, [%rd5];\n"
               "bra DONE;\nWRITE:\nst.global.u32 [%rd3], %r1;\nDONE:\n"),
        "k.ptx", VgpuOptions{.seed = 3, .threads = GetParam().threads});
    machine_->unwritten("x", 2048);
    machine_->unwritten("y", 2048);
    const Execution done = again(2, 64);
    ASSERT_EQ(done.reports.size(), 1u) << shown(done);
    EXPECT_EQ(done.reports[0].check, Check::global_race) << shown(done);
}

TEST_P(GlobalRace, CostsNothingWithoutChecks) {
    run("st.global.u32 [%rd1], %r3;\n");
    const Execution done = machine_->run("k", {4}, {64}, {machine_->at("x"), machine_->at("y")}, 0, {.checks = false});
    EXPECT_EQ(done.outcome, Outcome::correct);
}

INSTANTIATE_TEST_SUITE_P(Schedules, GlobalRace, testing::Values(How{0, 1}, How{1, 1}, How{2, 1}, How{0, 4}, How{3, 4}),
                         [](const testing::TestParamInfo<How>& info) {
                             return "schedule_" + std::to_string(info.param.schedule) + "_threads_" +
                                    std::to_string(info.param.threads);
                         });

TEST(Workspace, IsThereForCooperativeLaunchesAlone) {
    const std::string body =
        "mov.u32 %r5, %envreg1;\nmov.u32 %r6, %envreg2;\nmov.b64 %rd5, {%r6, %r5};\n"
        "@%p2 st.global.u64 [%rd1], %rd5;\n@%p2 red.global.add.u32 [%rd5+4], 1;\n";
    Machine machine(kernel(body), "k.ptx", {.seed = 3, .threads = 1});
    machine.buffer("x", std::vector<uint64_t>(64));
    machine.buffer("y", std::vector<uint64_t>(64));
    Launch launch{.entry = "k", .grid = {4}, .block = {32}, .arguments = {machine.at("x"), machine.at("y")}};
    launch.cooperative = true;
    EXPECT_EQ(machine.device().run(std::span(&launch, 1), {}).outcome, Outcome::correct);
    EXPECT_NE(machine.values<uint64_t>("x", 1)[0], 0u);
    launch.grid = {4096};
    EXPECT_EQ(machine.device().run(std::span(&launch, 1), {}).outcome, Outcome::correct);
    launch.grid = {132 * 32 + 1};
    EXPECT_EQ(machine.device().run(std::span(&launch, 1), {}).outcome, Outcome::launch_refused);
    launch.grid = {4};
    launch.cooperative = false;
    const Execution done = machine.device().run(std::span(&launch, 1), {});
    ASSERT_FALSE(done.reports.empty());
    EXPECT_EQ(done.reports[0].check, Check::out_of_bounds);
}

}  // namespace
}  // namespace recuda::vgpu
