// The CUDA device on a real GPU. This program is its own worker (`worker --device N`), so it has its own main.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>

#include "base/process.h"
#include "cuda_device_fixture.h"
#include "device/cuda/cuda.h"

namespace recuda {
namespace {

using testing::HasSubstr;

TEST_F(CudaDevice, DescribesTheCard) {
    const DeviceInfo& info = device_->info();
    std::printf("%s %s, driver %s, %u SMs, L2 %.1f MiB, memory %.1f GiB at %.0f GB/s, shared %u of %u, %s\n",
                info.name.c_str(), info.target.c_str(), info.driver.c_str(), info.sm_count, info.l2_bytes / 1048576.0,
                info.memory_bytes / 1073741824.0, info.memory_bytes_per_ns, info.max_shared_bytes,
                info.shared_bytes_per_sm, info.integrated ? "integrated" : "discrete");
    EXPECT_EQ(info.kind, DeviceKind::cuda);
    EXPECT_TRUE(info.measures_time);
    EXPECT_TRUE(info.target.starts_with("sm_"));
    EXPECT_GT(info.sm_count, 0u);
    EXPECT_GT(info.l2_bytes, 0u);
    EXPECT_GT(info.memory_bytes, 0u);
    EXPECT_GE(info.max_shared_bytes, 48u << 10);
    EXPECT_GE(info.registers_per_sm, 32768u);
    EXPECT_EQ(survey_cuda().devices.at(0).name, info.name);
}

TEST_F(CudaDevice, AddsVectors) {
    constexpr uint32_t kCount = 100001;
    std::vector<float> a(kCount), b(kCount), sum(kCount);
    std::iota(a.begin(), a.end(), 0.0f);
    std::iota(b.begin(), b.end(), 5.0f);
    for (uint32_t i = 0; i < kCount; ++i) sum[i] = a[i] + b[i];
    const BufferId x = with("a", a), y = with("b", b), z = device_->allocate("c", kCount * 4);
    device_->fill(z, std::byte{0xff}, true);
    const Execution execution =
        run(launch("add", (kCount + 255) / 256, 256, {buffer(x), buffer(y), buffer(z), value(kCount)}));
    EXPECT_EQ(execution.outcome, Outcome::correct) << execution.log;
    EXPECT_TRUE(content<float>(z, kCount) == sum);
}

/// An assembler of the toolkit or of .deps; "" where there is none.
std::string ptxas() {
    for (const char* path : {"/usr/local/cuda/bin/ptxas", ".deps/cuda/bin/ptxas"})
        if (std::filesystem::exists(path)) return path;
    return "";
}

TEST_F(CudaDevice, LoadsMachineCode) {
    if (ptxas().empty()) GTEST_SKIP() << "no ptxas";
    const std::filesystem::path folder = testing::TempDir(), source = folder / "plain.ptx",
                                made = folder / "plain.cubin";
    std::ofstream(source) << kPlainKernels;
    const std::string target = device_->info().target;
    ASSERT_EQ(run_process({ptxas(), "-arch=" + target, source, "-o", made}).status, 0);
    std::ifstream file(made, std::ios::binary);
    Binary binary;
    binary.target = target;
    binary.file = "plain.cu";
    binary.cubin.assign(std::istreambuf_iterator<char>(file), {});
    plain_ = device_->load(binary);
    expect_works();

    binary.target = "sm_20";
    EXPECT_THROW(device_->load(binary), Error) << "made for another GPU, and without PTX";
    binary.target = target;
    binary.cubin.resize(100);
    EXPECT_THROW(device_->load(binary), Error);
    expect_works();
}

TEST_F(CudaDevice, CarriesTensorsFast) {
    std::vector<std::byte> sent(256u << 20), got(sent.size());
    for (size_t i = 0; i < sent.size(); i += 4093) sent[i] = static_cast<std::byte>(i >> 12);
    const BufferId id = device_->allocate("large", sent.size());
    const auto start = std::chrono::steady_clock::now();
    device_->write(id, 0, sent);
    const auto written = std::chrono::steady_clock::now();
    device_->read(id, 0, got);
    const auto done = std::chrono::steady_clock::now();
    EXPECT_TRUE(sent == got);
    std::printf("write %.2f GB/s, read %.2f GB/s\n",
                sent.size() / 1e9 / std::chrono::duration<double>(written - start).count(),
                sent.size() / 1e9 / std::chrono::duration<double>(done - written).count());
}

TEST_F(CudaDevice, PrintsAreCaptured) {
    Execution execution = run(launch("hello", 2, 1, {}));
    EXPECT_EQ(execution.outcome, Outcome::correct) << execution.log;
    EXPECT_EQ(execution.printed, "Hello block!\nHello block!\n");
    execution = run(launch("hello", 1, 1, {}));
    EXPECT_EQ(execution.printed, "Hello block!\n");
}

TEST_F(CudaDevice, UsesLargeSharedMemory) {
    const BufferId out = with<uint32_t>("out", {0});
    const uint32_t bytes = device_->info().max_shared_bytes;
    Launch large = launch("large_shared", 1, 1, {buffer(out), value(bytes)});
    large.shared_bytes = bytes;
    Launch small = launch("large_shared", 1, 1, {buffer(out), value<uint32_t>(1024)});
    small.shared_bytes = 1024;
    const Execution execution = device_->run(std::array{large, small, large});
    EXPECT_EQ(execution.outcome, Outcome::correct) << execution.log;
    EXPECT_EQ(content<uint32_t>(out, 1), std::vector<uint32_t>{77});
    large.shared_bytes = bytes + 1024;
    EXPECT_EQ(run(large).outcome, Outcome::launch_refused);
    expect_works();
}

TEST_F(CudaDevice, LaunchesCooperatively) {
    const BufferId count = with<uint32_t>("count", {0, 0});
    const uint32_t blocks = device_->info().sm_count;
    Launch meet = launch("meet", blocks, 128, {buffer(count)});
    meet.cooperative = true;
    Execution execution = run(meet);
    EXPECT_EQ(execution.outcome, Outcome::correct) << execution.log;
    EXPECT_EQ(content<uint32_t>(count, 2)[1], blocks * 128);
    meet.grid.x = blocks * 64;
    execution = run(meet);
    EXPECT_EQ(execution.outcome, Outcome::launch_refused);
    EXPECT_THAT(execution.log, HasSubstr("CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"));
    expect_works();
}

TEST_F(CudaDevice, LaunchesClusters) {
    if (!has_clusters()) GTEST_SKIP() << "no clusters on " << device_->info().target;
    const BufferId out = with("out", std::vector<uint32_t>(64));
    Launch ranks = launch("ranks", 8, 1, {buffer(out)});
    ranks.module = load(kHopperKernels);
    ranks.cluster = {4, 1, 1};
    Execution execution = run(ranks);
    EXPECT_EQ(execution.outcome, Outcome::correct) << execution.log;
    EXPECT_EQ(content<uint32_t>(out, 8), (std::vector<uint32_t>{4, 104, 204, 304, 4, 104, 204, 304}));

    const uint32_t most = device_->info().max_cluster_blocks;
    ranks.grid.x = ranks.cluster.x = most;
    execution = run(ranks);
    EXPECT_EQ(execution.outcome, Outcome::correct) << execution.log;
    EXPECT_EQ(content<uint32_t>(out, most).back(), (most - 1) * 100 + most);

    ranks.cluster.x = 3;
    execution = run(ranks);
    EXPECT_EQ(execution.outcome, Outcome::launch_refused) << "a grid of " << most << " blocks in clusters of 3";
    expect_works();
}

TEST_F(CudaDevice, LetsADependentStartEarly) {
    if (!has_clusters()) GTEST_SKIP() << "no programmatic launches on " << device_->info().target;
    const ModuleId module = load(kHopperKernels);
    const auto seen = [&](bool programmatic) {
        const BufferId p = with<uint32_t>("p", {1}), q = with<uint32_t>("q", {0, 0});
        Launch first = launch("first", 1, 1, {buffer(p)}), second = launch("second", 1, 1, {buffer(p), buffer(q)});
        first.module = second.module = module;
        second.programmatic = programmatic;
        const Execution execution = device_->run(std::array{first, second});
        EXPECT_EQ(execution.outcome, Outcome::correct) << execution.log;
        return content<uint32_t>(q, 2);
    };
    EXPECT_EQ(seen(false), (std::vector<uint32_t>{5, 5}));
    EXPECT_EQ(seen(true), (std::vector<uint32_t>{1, 5}));
}

TEST_F(CudaDevice, PassesTensorMaps) {
    if (!has_clusters()) GTEST_SKIP() << "no tensor maps on " << device_->info().target;
    std::vector<float> numbers(64 * 32), expected;
    std::iota(numbers.begin(), numbers.end(), 0.0f);
    for (int y = 8; y < 16; ++y)
        for (int x = 40; x < 48; ++x) expected.push_back(static_cast<float>(64 * y + x));
    const BufferId from = with("w", numbers), out = device_->allocate("out", 256);
    Launch tile = launch("tile", 1, 1, {{}, buffer(out), value<uint32_t>(40), value<uint32_t>(8)});
    tile.module = load(kHopperKernels);
    tile.arguments[0].kind = Argument::Kind::tensor_map;
    tile.arguments[0].tensor_map = std::make_shared<TensorMap>(TensorMap{from, "f32", {64, 32}, {}, {8, 8}, 0});
    Execution execution = run(tile);
    EXPECT_EQ(execution.outcome, Outcome::correct) << execution.log;
    EXPECT_EQ(content<float>(out, 64), expected);

    tile.arguments[0].tensor_map = std::make_shared<TensorMap>(TensorMap{from, "f32", {64, 32}, {}, {300, 8}, 0});
    execution = run(tile);
    EXPECT_EQ(execution.outcome, Outcome::launch_refused);
    EXPECT_THAT(execution.log,
                HasSubstr("kernel `tile`: a tensor map over `w`: dimension 0 of the box is 300, outside of 1 to 256"));
}

TEST_F(CudaDevice, RefusesWhatCannotBeLaunched) {
    const BufferId out = with<uint32_t>("out", {0});
    struct Case {
        Launch launch;
        const char* log;
    };
    for (const auto& [wrong, log] : {
             Case{launch("nobody", 1, 1, {}), "kernel `nobody`: not found in its module"},
             Case{launch("poke", 1, 1, {buffer(out)}), "it takes 2 parameters and was given 1"},
             Case{launch("poke", 1, 1, {buffer(out), value<int64_t>(0), value<int64_t>(0)}),
                  "it takes 2 parameters and was given 3"},
             Case{launch("poke", 1, 1, {buffer(out), value<int32_t>(0)}), "parameter 1 has 8 bytes and was given 4"},
             Case{launch("poke", 1, 2048, {buffer(out), value<int64_t>(0)}), "CUDA_ERROR_INVALID_VALUE"},
             Case{launch("poke", 0, 1, {buffer(out), value<int64_t>(0)}), "CUDA_ERROR_INVALID_VALUE"},
         }) {
        const Execution execution = run(wrong);
        EXPECT_EQ(execution.outcome, Outcome::launch_refused) << log;
        EXPECT_THAT(execution.log, HasSubstr(log));
    }
    expect_works();
    EXPECT_THROW(run(launch("poke", 1, 1, {buffer(out, 5), value<int64_t>(0)})), Error);
    EXPECT_THROW(load("this is no PTX"), Error);
    EXPECT_THROW(device_->allocate("all", 1ull << 50), Error);
    expect_works();
}

TEST_F(CudaDevice, FindsBrokenGuardBands) {
    const BufferId out = with("out", std::vector<uint8_t>(1001)), other = with<uint8_t>("other", {1});
    for (const int64_t offset : {int64_t{1001}, int64_t{-1}, int64_t{-4096}, int64_t{1001 + 4095}}) {
        const Execution execution = run(launch("poke", 1, 1, {buffer(out), value(offset)}));
        // One in 256 stores meets a pattern byte of its own value.
        if (execution.outcome == Outcome::correct) continue;
        ASSERT_EQ(execution.outcome, Outcome::faulted) << execution.log;
        ASSERT_EQ(execution.reports.size(), 1u);
        EXPECT_EQ(execution.reports[0].check, Check::out_of_bounds);
        EXPECT_EQ(execution.reports[0].buffer, "out");
        EXPECT_EQ(execution.reports[0].byte_offset, offset);
        EXPECT_EQ(execution.reports[0].kernel, "poke");
        EXPECT_THAT(execution.reports[0].message, HasSubstr(offset < 0 ? "before it" : "after it"));
    }
    // The worker lives on, and the next run is not blamed.
    const Execution execution = run(launch("poke", 1, 1, {buffer(out), value<int64_t>(1000)}));
    EXPECT_EQ(execution.outcome, Outcome::correct) << execution.log;
    EXPECT_EQ(content<uint8_t>(out, 1001)[1000], 42);
    EXPECT_EQ(content<uint8_t>(other, 1)[0], 1);
}

TEST_F(CudaDevice, SurvivesAnIllegalAddress) {
    const BufferId out = with<uint32_t>("out", {0});
    const Execution execution = run(launch("poke", 1, 1, {value<uint64_t>(0), value<int64_t>(16)}));
    EXPECT_EQ(execution.outcome, Outcome::faulted);
    EXPECT_THAT(execution.log, HasSubstr("kernel `poke`: CUDA_ERROR_ILLEGAL_ADDRESS"));
    EXPECT_THROW(content<uint32_t>(out, 1), DeviceLost);
    EXPECT_THROW(run(launch("add", 1, 1, {})), DeviceLost);
    load();
    expect_works();
}

TEST_F(CudaDevice, EndsAKernelWithoutEnd) {
    const BufferId out = with<uint32_t>("out", {0});
    const auto start = std::chrono::steady_clock::now();
    const Execution execution = run(launch("endless", 1, 32, {buffer(out)}), 1);
    EXPECT_EQ(execution.outcome, Outcome::timed_out);
    EXPECT_THAT(execution.log, HasSubstr("kernel `endless` had not ended after 1 s"));
    EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 8);
    load();
    expect_works();
    std::printf("a new worker works %.2f s after the start of the run without end\n",
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

double median(std::vector<double> numbers) {
    std::nth_element(numbers.begin(), numbers.begin() + numbers.size() / 2, numbers.end());
    return numbers[numbers.size() / 2];
}

void print(const char* what, const Timing& timing) {
    const auto [low, high] = std::minmax_element(timing.samples_ns.begin(), timing.samples_ns.end());
    std::printf("%s: median %.0f ns [%.0f, %.0f], clock %.0f MHz, %s\n", what, median(timing.samples_ns), *low, *high,
                median(timing.clock_mhz), timing.method.c_str());
}

TEST_F(CudaDevice, TimesACopyNoFasterThanTheMemory) {
    constexpr uint32_t kBytes = 128u << 20;
    TimingRequest request;
    const uint64_t sets = 2 + 3 * device_->info().l2_bytes / (2ull * kBytes);
    for (uint64_t i = 0; i < sets; ++i) {
        const BufferId from = device_->allocate("from", kBytes), to = device_->allocate("to", kBytes);
        device_->fill(from, std::byte{static_cast<unsigned char>(i)}, false);
        const uint32_t blocks = device_->info().sm_count * 16;
        request.sequences.push_back(
            {launch("copy", blocks, 256, {buffer(from), buffer(to), value<uint32_t>(kBytes / 16)})});
    }
    const Timing timing = device_->time(request);
    ASSERT_EQ(timing.outcome, Outcome::correct) << timing.log;
    ASSERT_EQ(timing.samples_ns.size(), request.samples);
    ASSERT_EQ(timing.clock_mhz.size(), request.samples);
    print("copy of 128 MiB", timing);
    const double bytes_per_ns = 2.0 * kBytes / median(timing.samples_ns), peak = device_->info().memory_bytes_per_ns;
    std::printf("%.0f GB/s of %.0f\n", bytes_per_ns, peak);
    EXPECT_THAT(timing.method, HasSubstr("events around 1 run, queued behind a holding kernel"));
    EXPECT_GT(median(timing.clock_mhz), 200);
    EXPECT_LT(median(timing.clock_mhz), 4000);
    if (peak > 0) {
        EXPECT_LT(bytes_per_ns, 1.05 * peak);
        EXPECT_GT(bytes_per_ns, 0.4 * peak);
    }
}

TEST_F(CudaDevice, TimesShortKernelsInGraphs) {
    const BufferId a = with<float>("a", std::vector<float>(64)), b = with<float>("b", std::vector<float>(64));
    const BufferId c = device_->allocate("c", 256), counter = device_->allocate("counter", 4);
    device_->fill(counter, std::byte{0}, false);
    const Launch add = launch("add", 1, 64, {buffer(a), buffer(b), buffer(c), value<uint32_t>(64)});
    const Launch count = launch("increment", 1, 1, {buffer(counter)});
    TimingRequest request;
    request.sequences = {{add}, {add, count}, {add}};
    const Timing raised = device_->time(request);
    ASSERT_EQ(raised.outcome, Outcome::correct) << raised.log;
    print("a kernel of 64 threads", raised);
    EXPECT_THAT(raised.method, HasSubstr("(more than the 1 asked for: too short a span)"));
    for (const double sample : raised.samples_ns) EXPECT_GT(sample, 100);
    EXPECT_LT(median(raised.samples_ns), 20000);
    EXPECT_GT(content<float>(counter, 1)[0], request.samples);

    request.runs_per_sample = 20;
    request.cleared = {counter};
    const Timing asked = device_->time(request);
    ASSERT_EQ(asked.outcome, Outcome::correct) << asked.log;
    print("the same, 20 runs asked for, a counter cleared in every third", asked);
    EXPECT_THAT(asked.method, HasSubstr("events around a graph of "));
    EXPECT_EQ(content<float>(counter, 1)[0], 1);
}

TEST_F(CudaDevice, TimesEveryKindOfLaunchInGraphs) {
    if (!has_clusters()) GTEST_SKIP() << "no clusters on " << device_->info().target;
    const ModuleId module = load(kHopperKernels);
    const BufferId met = with<uint32_t>("met", {0, 0}), p = with<uint32_t>("p", {1}), q = with<uint32_t>("q", {0, 0});
    const BufferId out = with("out", std::vector<uint32_t>(64));
    const uint32_t blocks = device_->info().sm_count;
    Launch meet = launch("meet", blocks, 128, {buffer(met)}), ranks = launch("ranks", 8, 1, {buffer(out)});
    Launch first = launch("first", 1, 1, {buffer(p)}), second = launch("second", 1, 1, {buffer(p), buffer(q)});
    ranks.module = first.module = second.module = module;
    meet.cooperative = true;
    ranks.cluster = {4, 1, 1};
    first.programmatic = second.programmatic = true;
    TimingRequest request;
    request.sequences = {{first, second, meet, ranks}};
    request.cleared = {met, p};
    request.runs_per_sample = 4;
    const Timing timing = device_->time(request);
    ASSERT_EQ(timing.outcome, Outcome::correct) << timing.log;
    print("programmatic, cooperative and cluster launches, 200 us of them a wait", timing);
    EXPECT_THAT(timing.method, HasSubstr("events around a graph of 4 runs"));
    EXPECT_GT(median(timing.samples_ns), 200000);
    EXPECT_LT(median(timing.samples_ns), 300000);
    EXPECT_EQ(content<uint32_t>(met, 2)[1], blocks * 128);
    EXPECT_EQ(content<uint32_t>(q, 2), (std::vector<uint32_t>{0, 5})) << "the dependent started early in the graph too";
    EXPECT_EQ(content<uint32_t>(out, 8)[3], 304u);
}

TEST_F(CudaDevice, TimingShowsWhatIsWrong) {
    const BufferId out = with<uint32_t>("out", {0});
    TimingRequest request;
    request.deadline_s = 1;
    request.sequences = {{launch("poke", 1, 4096, {buffer(out), value<int64_t>(0)})}};
    Timing timing = device_->time(request);
    EXPECT_EQ(timing.outcome, Outcome::launch_refused);
    EXPECT_TRUE(timing.samples_ns.empty());

    request.sequences = {{launch("poke", 1, 1, {value<uint64_t>(0), value<int64_t>(16)})}};
    timing = device_->time(request);
    EXPECT_EQ(timing.outcome, Outcome::faulted);
    EXPECT_THAT(timing.log, HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));

    load();
    const BufferId next = with<uint32_t>("next", {0});
    request.sequences = {{launch("endless", 1, 1, {buffer(next)})}};
    timing = device_->time(request);
    EXPECT_EQ(timing.outcome, Outcome::timed_out);
    load();
    expect_works();
}

}  // namespace
}  // namespace recuda

int main(int argc, char** argv) {
    const std::string_view role = argc > 1 ? argv[1] : "", option = argc > 2 ? argv[2] : "";
    if (role == "worker" && option == "--survey") return recuda::print_cuda_survey();
    if (role == "worker" && option == "--device" && argc > 3) return recuda::serve_cuda_worker(std::atoi(argv[3]));
    if (role == "hold") {  // opens the GPU, as another program would
        recuda::make_cuda({0, {recuda::this_program(), "worker", "--device", "0"}});
        return 0;
    }
    testing::InitGoogleMock(&argc, argv);
    return RUN_ALL_TESTS();
}
