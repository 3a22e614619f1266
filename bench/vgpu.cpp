// How fast the virtual GPU is on one core with all checks and counters on. Targets: 15,000 bf16 rmsnorm rows of 4096
// elements a second (256 threads a block) and 1 G thread-instructions a second.
#include <benchmark/benchmark.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "device/counters.h"
#include "device/vgpu/vgpu.h"

namespace recuda {
namespace {

constexpr uint32_t kRows = 512, kWidth = 4096;

template <typename T>
Argument value(T value) {
    Argument argument;
    argument.value.resize(sizeof value);
    std::memcpy(argument.value.data(), &value, sizeof value);
    return argument;
}

void rmsnorm(benchmark::State& state, bool checks, bool count) {
    std::ifstream file(RECUDA_SOURCE_DIR "/tests/fixtures/vgpu/kernels.ptx");
    std::stringstream text;
    text << file.rdbuf();
    auto device = make_vgpu({.threads = 1});
    Binary binary;
    binary.ptx = text.str();
    binary.file = "kernels.cu";
    const ModuleId module = device->load(binary);
    const std::vector<uint16_t> ones(size_t{kRows} * kWidth, 0x3f80);
    const auto buffer = [&](const char* name, size_t count, bool written) {
        const BufferId id = device->allocate(name, count * 2);
        if (written) device->write(id, 0, std::as_bytes(std::span(ones).first(count)));
        return Argument{.kind = Argument::Kind::buffer, .buffer = id};
    };
    const Launch launch{.module = module,
                        .entry = "rms",
                        .grid = {kRows},
                        .block = {256},
                        .arguments = {buffer("x", ones.size(), true), buffer("w", kWidth, true),
                                      buffer("y", ones.size(), false), value(1e-5f), value(static_cast<int>(kWidth))}};
    // The instructions are always counted once, so that runs without counters show a rate too.
    const uint64_t instructions = device->run(std::span(&launch, 1)).counters->thread_instructions;
    for (auto _ : state) {
        const Execution done = device->run(std::span(&launch, 1), {.checks = checks, .count = count});
        if (done.outcome != Outcome::correct) state.SkipWithError("the kernel failed");
    }
    const auto per_second = [](double count) {
        return benchmark::Counter(count, benchmark::Counter::kIsIterationInvariantRate);
    };
    state.counters["rows/s (target 15k)"] = per_second(kRows);
    state.counters["thread instr/s (target 1G)"] = per_second(static_cast<double>(instructions));
}

BENCHMARK_CAPTURE(rmsnorm, checks_and_counters, true, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(rmsnorm, checks, true, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(rmsnorm, neither, false, false)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace recuda
