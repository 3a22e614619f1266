// How fast the virtual GPU is: kernels.cu with and without checks and counters, on one core and on two, and against the
// same kernels as host C++ (host_kernels.h) in the same process.
//
// All of one core but "two_cores". Targets: 1 G thread-instructions a second and core on rmsnorm, silu_mul and topk
// with all checks on; both matmuls of 256 x 256 x 256 below 0.2 s; twice as fast on two cores. docs/vgpu.md has a
// table, made from
//     build/release/bench_vgpu --benchmark_out=FILE --benchmark_out_format=json
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>

#include "device/counters.h"
#include "device/vgpu/vgpu.h"
#include "host_kernels.h"

namespace recuda {
namespace {

constexpr int kRows = 512, kWidth = 4096, kRouted = 8192, kSide = 256;
constexpr double kMatmulLimit_ms = 200;

template <typename T>
Argument value(T value) {
    Argument argument;
    argument.value.resize(sizeof value);
    std::memcpy(argument.value.data(), &value, sizeof value);
    return argument;
}

/// Numbers between -2 and 2, as bf16 or f32.
template <typename T>
std::vector<T> numbers(size_t count) {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-2, 2);
    std::vector<T> values(count);
    for (T& one : values) {
        if constexpr (std::is_same_v<T, float>)
            one = uniform(random);
        else
            one = host::narrowed(uniform(random));
    }
    return values;
}

/// The device with kernels.ptx, and the buffers of one kernel.
class Bench {
 public:
    explicit Bench(uint32_t threads) : device_(make_vgpu({.target = "sm_90a", .threads = threads})) {
        std::ifstream file(RECUDA_SOURCE_DIR "/bench/kernels.ptx");
        std::stringstream text;
        text << file.rdbuf();
        Binary binary;
        binary.target = device_->info().target;
        binary.ptx = text.str();
        binary.file = "kernels.cu";
        launch.module = device_->load(binary);
    }
    template <typename T>
    Argument given(const char* name, const std::vector<T>& values) {
        const BufferId id = device_->allocate(name, values.size() * sizeof(T));
        device_->write(id, 0, std::as_bytes(std::span(values)));
        return {.kind = Argument::Kind::buffer, .buffer = id};
    }
    Argument unwritten(const char* name, size_t bytes) {
        return {.kind = Argument::Kind::buffer, .buffer = device_->allocate(name, bytes)};
    }
    Execution run(bool checks, bool count) {
        return device_->run(std::span(&launch, 1), {.checks = checks, .count = count});
    }
    Launch launch;
    std::function<void()> host;  // the same as plain C++

 private:
    std::unique_ptr<Device> device_;
};

void rmsnorm(Bench& bench) {
    const auto x = numbers<uint16_t>(size_t{kRows} * kWidth), w = numbers<uint16_t>(kWidth);
    bench.launch.entry = "rmsnorm";
    bench.launch.grid = {kRows};
    bench.launch.block = {256};
    bench.launch.arguments = {bench.given("x", x), bench.given("w", w), bench.unwritten("y", x.size() * 2),
                              value(1e-5f), value(kWidth)};
    bench.host = [x, w, y = std::vector<uint16_t>(x.size())]() mutable {
        host::rmsnorm(x.data(), w.data(), y.data(), 1e-5f, kRows, kWidth);
        benchmark::DoNotOptimize(y.data());
    };
}

void silu_mul(Bench& bench) {
    const auto gu = numbers<uint16_t>(size_t{kRows} * kWidth * 2);
    constexpr int kWords = kWidth / 4;
    bench.launch.entry = "silu_mul";
    bench.launch.grid = {kRows * kWords / 256};
    bench.launch.block = {256};
    bench.launch.arguments = {bench.given("gu", gu), bench.unwritten("y", gu.size()), value(kWords),
                              value(kRows * kWords)};
    bench.host = [gu, y = std::vector<uint16_t>(gu.size() / 2)]() mutable {
        host::silu_mul(gu.data(), y.data(), kRows, kWidth);
        benchmark::DoNotOptimize(y.data());
    };
}

void topk(Bench& bench) {
    const auto logits = numbers<float>(size_t{kRouted} * 128);
    bench.launch.entry = "topk";
    bench.launch.grid = {kRouted / 4};
    bench.launch.block = {128};
    bench.launch.arguments = {bench.given("logits", logits), bench.unwritten("index", kRouted * 32),
                              bench.unwritten("weight", kRouted * 32), value(kRouted)};
    bench.host = [logits, index = std::vector<int32_t>(kRouted * 8),
                  weight = std::vector<float>(kRouted * 8)]() mutable {
        host::topk(logits.data(), index.data(), weight.data(), kRouted);
        benchmark::DoNotOptimize(weight.data());
    };
}

void matmul(Bench& bench, const char* entry) {
    const auto a = numbers<uint16_t>(kSide * kSide), b = numbers<uint16_t>(kSide * kSide);
    bench.launch.entry = entry;
    bench.launch.grid = {kSide / 64, kSide / 64};
    bench.launch.block = {128};
    bench.launch.arguments = {bench.given("a", a), bench.given("b", b), bench.unwritten("c", kSide * kSide * 4),
                              value(kSide)};
    bench.host = [a, b, c = std::vector<float>(kSide * kSide)]() mutable {
        host::matmul(a.data(), b.data(), c.data(), kSide);
        benchmark::DoNotOptimize(c.data());
    };
}
void matmul_mma(Bench& bench) { matmul(bench, "matmul_mma"); }
void matmul_wgmma(Bench& bench) { matmul(bench, "matmul_wgmma"); }

/// The shortest of several calls, in ms: of the processor's time, which other programs do not lengthen much, or of the
/// clock.
enum class Time { processor, clock };
double least_ms(Time time, const std::function<void()>& call) {
    double least = 1e300;
    for (int i = 0; i < 9; ++i) {
        const auto start = std::chrono::steady_clock::now();
        const std::clock_t used = std::clock();
        call();
        const std::chrono::duration<double, std::milli> span = std::chrono::steady_clock::now() - start;
        const double busy = 1e3 * static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC;
        least = std::min(least, time == Time::processor ? busy : span.count());
    }
    return least;
}

struct Mode {
    bool checks = true, count = false;
    uint32_t threads = 1;
};

void measure(benchmark::State& state, void (*prepare)(Bench&), Mode mode) {
    Bench bench(mode.threads);
    prepare(bench);
    // Counted once apart, so that runs without counters show a rate too.
    const auto instructions = static_cast<double>(bench.run(true, true).counters->thread_instructions);
    for (auto _ : state)
        if (bench.run(mode.checks, mode.count).outcome != Outcome::correct) state.SkipWithError("the kernel failed");
    const auto own = [&] { bench.run(mode.checks, mode.count); };
    if (mode.threads > 1) {
        Bench alone(1);
        prepare(alone);
        const double one = least_ms(Time::clock, [&] { alone.run(mode.checks, mode.count); });
        state.counters["times one core"] = one / least_ms(Time::clock, own);
        return;
    }
    const double ms = least_ms(Time::processor, own);
    state.counters["ms"] = ms;
    state.counters["G thread instr/s"] = instructions / ms / 1e6;
    state.counters["times host C++"] = ms / least_ms(Time::processor, bench.host);
    if (prepare == matmul_mma || prepare == matmul_wgmma) state.counters["share of limit"] = ms / kMatmulLimit_ms;
}

#define MODES(kernel)                                                                                                 \
    BENCHMARK_CAPTURE(measure, kernel##_checks, kernel, Mode{})->Unit(benchmark::kMillisecond);                       \
    BENCHMARK_CAPTURE(measure, kernel##_checks_counters, kernel, Mode{.count = true})->Unit(benchmark::kMillisecond); \
    BENCHMARK_CAPTURE(measure, kernel##_neither, kernel, Mode{.checks = false})->Unit(benchmark::kMillisecond);       \
    BENCHMARK_CAPTURE(measure, kernel##_checks_two_cores, kernel, Mode{.threads = 2})                                 \
        ->Unit(benchmark::kMillisecond)                                                                               \
        ->UseRealTime()

MODES(rmsnorm);
MODES(silu_mul);
MODES(topk);
MODES(matmul_mma);
MODES(matmul_wgmma);

}  // namespace
}  // namespace recuda
