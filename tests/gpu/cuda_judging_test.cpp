// What the judge asks of the CUDA device on a real GPU: guard pages, hashes, checked timing, noise, the lease.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <algorithm>
#include <chrono>

#include <cstdio>

#include "base/process.h"
#include "base/rng.h"
#include "cuda_device_fixture.h"
#include "device/hash.h"

namespace recuda {
namespace {

using testing::HasSubstr;

class CudaJudging : public CudaDevice {
 protected:
    BufferId guarded(uint64_t bytes, Guard guard) {
        const BufferId id = device_->allocate_guarded("x", bytes, guard);
        device_->fill(id, std::byte{9}, false);
        return id;
    }
    Execution peek(BufferId id, int64_t offset) {
        const BufferId out = with<uint32_t>("out", {0});
        Execution execution = run(launch("peek", 1, 1, {buffer(id), value(offset), buffer(out)}));
        if (execution.outcome == Outcome::correct) execution.log = std::to_string(content<uint32_t>(out, 1)[0]);
        return execution;
    }
};

TEST_F(CudaJudging, ReadsBeyondAGuardFault) {
    struct Case {
        Guard guard;
        uint64_t bytes;
        int64_t offset;
        bool faults;
    };
    constexpr int64_t kFar = 4 << 20;
    for (const auto& [guard, bytes, offset, faults] :
         {Case{Guard::after, 5376, 0, false}, Case{Guard::after, 5376, 5375, false},
          Case{Guard::after, 5376, 5376, true}, Case{Guard::after, 5376, 5376 + kFar, true},
          Case{Guard::after, 1001, 1024, true}, Case{Guard::before, 5376, 0, false},
          Case{Guard::before, 5376, -1, true}, Case{Guard::before, 5376, -kFar, true},
          Case{Guard::after, 3 << 21, (3 << 21) - 1, false}, Case{Guard::after, 3 << 21, 3 << 21, true},
          Case{Guard::before, 3 << 21, -1, true}}) {
        const Execution execution = peek(guarded(bytes, guard), offset);
        EXPECT_EQ(execution.outcome, faults ? Outcome::faulted : Outcome::correct)
            << bytes << " bytes, offset " << offset << ": " << execution.log;
        if (!faults) {
            EXPECT_EQ(execution.log, "9");
        } else {
            EXPECT_THAT(execution.log, HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
            load();
        }
    }
    expect_works();
}

TEST_F(CudaJudging, WritesIntoTheLastBytesBeforeAGuardAreSeen) {
    const BufferId after = guarded(1001, Guard::after), before = guarded(1001, Guard::before);
    for (const auto& [id, offset] : {std::pair(after, int64_t{1001}), std::pair(after, int64_t{1023}),
                                     std::pair(after, int64_t{-1}), std::pair(before, int64_t{1001})}) {
        const Execution execution = run(launch("poke", 1, 1, {buffer(id), value(offset)}));
        if (execution.outcome == Outcome::correct) continue;  // one in 256 meets a byte of its own value
        ASSERT_EQ(execution.reports.size(), 1u) << execution.log;
        EXPECT_EQ(execution.reports[0].byte_offset, offset);
    }
    expect_works();
}

TEST_F(CudaJudging, HashesAsTheHostDoes) {
    Rng random(5);
    std::vector<std::byte> bytes(100'000'003);
    for (size_t i = 0; i + 8 <= bytes.size(); i += 8) {
        const uint64_t word = random.next();
        std::memcpy(bytes.data() + i, &word, 8);
    }
    const BufferId id = with("x", bytes);
    std::vector<Region> regions;
    std::vector<uint64_t> wanted;
    for (const uint64_t count : {uint64_t{0}, uint64_t{1}, uint64_t{8}, uint64_t{4099}, uint64_t{100'000'003 - 256}})
        for (const uint64_t offset : {uint64_t{0}, uint64_t{256}}) {
            regions.push_back({id, offset, count});
            wanted.push_back(hash_of(std::span(bytes).subspan(offset, count)));
        }
    EXPECT_EQ(device_->hashes(regions), wanted);
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 10; ++i) device_->hashes(std::span(regions).last(1));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 10;
    std::printf("hash of 100 MB: %.0f us, %.0f GB/s with the calls between the processes\n", 1e6 * seconds,
                0.1 / seconds);
}

TEST_F(CudaJudging, GuardedBuffersAreMadeFast) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<BufferId> all;
    for (int i = 0; i < 100; ++i) all.push_back(device_->allocate_guarded("x", 10000, Guard::after));
    const auto made = std::chrono::steady_clock::now();
    const Execution execution = run(launch("poke", 1, 1, {buffer(all[0]), value<int64_t>(0)}));
    const auto ran = std::chrono::steady_clock::now();
    for (const BufferId id : all) device_->free(id);
    const auto freed = std::chrono::steady_clock::now();
    EXPECT_EQ(execution.outcome, Outcome::correct) << execution.log;
    const auto us = [](auto from, auto to) { return std::chrono::duration<double, std::micro>(to - from).count(); };
    std::printf("100 guarded buffers: made %.0f us each, freed %.0f us each; a run with all bands checked %.0f us\n",
                us(start, made) / 100, us(ran, freed) / 100, us(made, ran));
}

/// A timing of `add` over so many sets, with what each must leave.
class CheckedTiming : public CudaJudging {
 protected:
    TimingRequest adding(size_t sets) {
        TimingRequest request{.samples = 12, .warmups = 2, .runs_per_sample = 4};
        for (size_t i = 0; i < sets; ++i) {
            std::vector<float> a(1024, static_cast<float>(i)), b(1024, 0.5f), sum(1024, static_cast<float>(i) + 0.5f);
            const BufferId c = device_->allocate("c", 4096);
            request.sequences.push_back({launch(
                "add", 4, 256, {buffer(with("a", a)), buffer(with("b", b)), buffer(c), value<uint32_t>(1024)})});
            request.outputs.push_back({{{c, 0, 4096}, hash_of(std::as_bytes(std::span(sum))), {}}});
        }
        return request;
    }
};

TEST_F(CheckedTiming, ChecksEveryRun) {
    TimingRequest request = adding(6);
    Timing timing = device_->time(request);
    ASSERT_EQ(timing.outcome, Outcome::correct) << timing.log;
    EXPECT_EQ(timing.samples_ns.size(), 12u);
    EXPECT_GE(timing.checked_runs, 48u);
    EXPECT_FALSE(timing.wrong_sequence);
    std::printf("%s\n", timing.method.c_str());
    EXPECT_THAT(timing.method, HasSubstr("outputs of every run hashed after each sample and wiped"));
    std::vector<float> left = content<float>(request.outputs[2][0].region.buffer, 1024);
    uint32_t bits = 0;
    std::memcpy(&bits, left.data(), 4);
    EXPECT_EQ(bits, 0xffffffffu) << "wiped after the last sample too";

    request.outputs[3][0].hash ^= 1;
    timing = device_->time(request);
    EXPECT_EQ(timing.outcome, Outcome::wrong);
    EXPECT_EQ(timing.wrong_sequence, 3u);
    EXPECT_TRUE(timing.samples_ns.empty());
    left = content<float>(request.outputs[3][0].region.buffer, 1024);
    EXPECT_EQ(left[5], 3.5f) << "what a wrong run left still lies there";
    expect_works();
}

TEST_F(CheckedTiming, ARunThatReliesOnAnEarlierOneIsSeen) {
    const BufferId out = device_->allocate("out", 4), other = device_->allocate("other", 4);
    const BufferId state = with<uint32_t>("state", {0});
    const uint32_t seven = 7;
    const uint64_t hash = hash_of(std::as_bytes(std::span(&seven, 1)));
    TimingRequest request{.samples = 8, .warmups = 1, .runs_per_sample = 2};
    request.sequences = {{launch("once", 1, 1, {buffer(out), buffer(state)})},
                         {launch("once", 1, 1, {buffer(other), buffer(state)})}};
    request.outputs = {{{{out, 0, 4}, hash, {}}}, {{{other, 0, 4}, hash, {}}}};
    Timing timing = device_->time(request);
    EXPECT_EQ(timing.outcome, Outcome::wrong) << "the warm-up did the work of all";

    request.poisoned = {state};
    timing = device_->time(request);
    EXPECT_EQ(timing.outcome, Outcome::wrong) << "the first run of a sample did the second one's";

    request.cleared = {state};
    timing = device_->time(request);
    EXPECT_EQ(timing.outcome, Outcome::correct) << timing.log << ": workspace that is zeroed before each run";
}

TEST_F(CheckedTiming, TensorsInPlaceBeginAnewBeforeEachRun) {
    const BufferId number = with<float>("number", {0}), original = with<float>("original", {41});
    const float one_more = 42;
    TimingRequest request{.samples = 8, .warmups = 1};
    request.sequences = {{launch("increment", 1, 1, {buffer(number)})}, {launch("increment", 1, 1, {buffer(number)})}};
    request.sequences.pop_back();
    request.outputs = {{{{number, 0, 4}, hash_of(std::as_bytes(std::span(&one_more, 1))), Region{original, 0, 4}}}};
    const Timing timing = device_->time(request);
    EXPECT_EQ(timing.outcome, Outcome::correct) << timing.log;
    EXPECT_EQ(timing.checked_runs, 8u);
}

TEST_F(CheckedTiming, CheckingDoesNotChangeTheTime) {
    constexpr uint32_t kBytes = 32u << 20;
    TimingRequest request{.samples = 20, .warmups = 3};
    const uint64_t sets = 2 + 4 * device_->info().l2_bytes / (2ull * kBytes);
    std::vector<std::byte> zeros(kBytes);
    const uint64_t hash = hash_of(zeros);
    for (uint64_t i = 0; i < sets; ++i) {
        const BufferId from = device_->allocate("from", kBytes), to = device_->allocate("to", kBytes);
        device_->fill(from, std::byte{0}, false);
        request.sequences.push_back({launch("copy", device_->info().sm_count * 16, 256,
                                            {buffer(from), buffer(to), value<uint32_t>(kBytes / 16)})});
        request.outputs.push_back({{{to, 0, kBytes}, hash, {}}});
    }
    const auto median = [](std::vector<double> all) {
        std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
        return all[all.size() / 2];
    };
    const auto start = std::chrono::steady_clock::now();
    const Timing checked = device_->time(request);
    const auto between = std::chrono::steady_clock::now();
    request.outputs.clear();
    const Timing bare = device_->time(request);
    const auto end = std::chrono::steady_clock::now();
    ASSERT_EQ(checked.outcome, Outcome::correct) << checked.log;
    ASSERT_EQ(bare.outcome, Outcome::correct) << bare.log;
    std::printf("copy of 32 MiB: %.1f us checked, %.1f us not; the calls took %.1f and %.1f ms\n",
                median(checked.samples_ns) / 1000, median(bare.samples_ns) / 1000,
                std::chrono::duration<double, std::milli>(between - start).count(),
                std::chrono::duration<double, std::milli>(end - between).count());
}

TEST_F(CudaJudging, NoiseBesideARunChangesNothing) {
    const BufferId a = with<float>("a", {1, 2}), b = with<float>("b", {10, 20}), c = device_->allocate("c", 8);
    const Launch add = launch("add", 1, 32, {buffer(a), buffer(b), buffer(c), value<uint32_t>(2)});
    for (int i = 0; i < 5; ++i) {
        const Execution execution = device_->run(std::array{add}, {.noise = true});
        EXPECT_EQ(execution.outcome, Outcome::correct) << execution.log;
        EXPECT_GT(execution.gpu_ns, 0);
        EXPECT_EQ(content<float>(c, 2), (std::vector<float>{11, 22}));
    }
}

TEST_F(CudaJudging, TheGpuIsLeased) {
    EXPECT_THAT(device_->info().uuid, testing::StartsWith("GPU-"));
    const ProcessResult waiting = run_process({this_program(), "hold"}, {.deadline_s = 5});
    EXPECT_TRUE(waiting.timed_out);
    EXPECT_THAT(waiting.err, HasSubstr("the GPU is in use by process " + std::to_string(::getpid())));
    device_.reset();
    const ProcessResult free = run_process({this_program(), "hold"}, {.deadline_s = 60});
    EXPECT_EQ(free.status, 0) << free.err;
}

}  // namespace
}  // namespace recuda
