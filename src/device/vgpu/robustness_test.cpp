// Kernels that want too much, and correct ones that want much: every one ends, in bounded memory, with a verdict.
#include <gmock/gmock.h>

#include "base/error.h"
#include "device/vgpu/fixture.h"

namespace recuda::vgpu {
namespace {

using testing::HasSubstr;

constexpr char kHead[] = ".version 8.0\n.target sm_90\n.address_size 64\n";

Machine machine(const std::string& text) {
    return Machine(kHead + text, "kernel.ptx", VgpuOptions{.seed = 7, .threads = 2});
}

/// A kernel that runs `body` `times` times in each thread.
std::string loop(const std::string& body, uint32_t times) {
    return ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n.global .b8 text[32] = {120, 10};\n"
           ".entry k() {\n.reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<2>;\nmov.u32 %r1, 0;\nA:\n" +
           body + "\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, " + std::to_string(times) +
           ";\n@%p1 bra A;\nret;\n}\n";
}

TEST(Robustness, AMillionBarriersAreNoRunaway) {
    Machine one = machine(loop("bar.sync 0;", 1'000'000));
    const Execution done = one.run("k", {1}, {64}, {});
    EXPECT_EQ(done.outcome, Outcome::correct) << shown(done);
    EXPECT_EQ(done.counters->barriers, 1'000'000u);
}

TEST(Robustness, AnEndlessLoopOfBarriersEnds) {
    Machine one = machine(loop("bar.sync 0; mov.u32 %r1, 0;", 2));
    const Execution done = one.run("k", {1}, {128}, {}, 0, {.deadline_s = 0.3});
    EXPECT_TRUE(done.outcome == Outcome::timed_out ||
                (done.outcome == Outcome::faulted && done.reports.at(0).check == Check::runaway))
        << shown(done);
}

TEST(Robustness, EndlessRecursionIsAFault) {
    for (const char* frame : {"", ".reg .b32 %r<30000>;", ".local .b8 stack[300000]; st.local.u8 [stack], 1;"}) {
        Machine one = machine(".func f() {" + std::string(frame) + " call f; ret; }\n.entry k() { call f; ret; }\n");
        const Execution done = one.run("k", {8}, {256}, {});
        ASSERT_EQ(done.outcome, Outcome::faulted) << shown(done);
        EXPECT_THAT(done.reports.at(0).message, HasSubstr("calls nest deeper"));
    }
}

TEST(Robustness, TwoBillionBlocksTimeOut) {
    for (const uint64_t schedule : {0, 1}) {
        Machine one = machine(".entry k() { ret; }\n");
        const Execution done = one.run("k", {2147483647}, {32}, {}, 0, {.deadline_s = 0.2, .schedule = schedule});
        EXPECT_EQ(done.outcome, Outcome::timed_out) << shown(done);
    }
}

TEST(Robustness, AFloodOfPrintfIsCut) {
    Machine one =
        machine(loop("{ .param .b64 f; .param .b64 a; .param .b32 r; mov.u64 %rd1, text; st.param.b64 [f], %rd1;"
                     " st.param.b64 [a], 0; call (r), vprintf, (f, a); }",
                     200'000));
    const Execution done = one.run("k", {1}, {32}, {});
    EXPECT_LT(done.printed.size(), (1u << 20) + 100);
    EXPECT_THAT(done.printed.substr(done.printed.size() - 60), HasSubstr("is left out"));
}

TEST(Robustness, BlocksOfGreatFramesRunFewAtATime) {
    Machine one = machine(".entry k() { .local .b8 stack[500000]; st.local.u8 [stack], 1; ret; }\n");
    const Execution done = one.run("k", {4}, {256}, {});
    EXPECT_EQ(done.outcome, Outcome::correct) << shown(done);
}

TEST(Robustness, SharedMemoryBeyondTheGpusIsRefused) {
    Machine one = machine(".entry k() { ret; }\n");
    EXPECT_EQ(one.run("k", {1}, {32}, {}, 0xffffffffu).outcome, Outcome::launch_refused);
}

TEST(Robustness, MasksTakeBytesOfAddresses) {
    Machine one = machine(R"(.global .b8 target[8];
        .global .align 8 .b8 split[8] = {0xff(target), 0xff00(target), 0xff0000(target), 0xff000000(target),
            0xff00000000(target), 0xff0000000000(target), 0xff000000000000(target), 0xff00000000000000(target)};
        .entry k(.param .u64 out) { .reg .b64 %rd<4>; ld.param.u64 %rd1, [out]; ld.global.u64 %rd2, [split];
            mov.u64 %rd3, target; sub.u64 %rd2, %rd2, %rd3; st.global.u64 [%rd1], %rd2; ret; })");
    one.unwritten("out", 8);
    const Execution done = one.run("k", {1}, {1}, {one.at("out")});
    ASSERT_EQ(done.outcome, Outcome::correct) << shown(done);
    EXPECT_EQ(one.values<uint64_t>("out", 1).at(0), 0u);
}

TEST(Robustness, TextThatIsNotPtxDoesNotLoad) {
    for (const char* body : {"mov.u32 %r9, 1;", "bra NOWHERE;", "frobnicate;", "call nothing;"})
        EXPECT_THROW(machine(".entry k() { " + std::string(body) + " ret; }\n"), Error) << body;
}

}  // namespace
}  // namespace recuda::vgpu
