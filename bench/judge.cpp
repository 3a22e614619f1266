// From the text of a kernel to its screened verdict on the virtual GPU, on one core and warm: rmsnorm of nano30b, the
// workloads with T <= 8. Target: 300 ms a candidate. No source is met twice, so none comes from the build cache.
#include <benchmark/benchmark.h>
#include <sched.h>

#include <string_view>

#include "base/file.h"
#include "base/process.h"
#include "build/builder.h"
#include "device/vgpu/vgpu.h"
#include "judge/judge.h"
#include "task/catalogue.h"

namespace recuda {
namespace {

constexpr double kTargetMs = 300;

/// The seed with its epsilon moved by a trifle of its own.
Candidate variant(const KernelFile& seed, const Point& point, int number) {
    std::string text = seed.text;
    constexpr std::string_view kEpsilon = "+ eps";
    text.replace(text.rfind(kEpsilon), kEpsilon.size(), fmt::format("+ (eps + {}e-30f)", number));
    return make_candidate(std::make_shared<const KernelFile>(parse_kernel_file(text, seed.name, seed.language)), point);
}

void screen(benchmark::State& state, const char* seed_name, const Point& point) {
    const TemporaryFolder cache;
    const std::unique_ptr<Builder> builder = make_builder(
        {.workers = 1, .cache_folder = cache.path().string(), .worker_command = {this_program(), "compile-worker"}});
    Catalogue catalogue(RECUDA_SOURCE_DIR);
    const Task task = catalogue.task("nano30b_rmsnorm");
    const KernelFile seed = read_kernel_file(task.op->folder / "seeds" / seed_name);
    const std::unique_ptr<Evaluator> judge = make_judge(task, make_vgpu({.threads = 1}), *builder, {.seed = 1});
    int number = 0;
    bool right = true;
    const auto judge_one = [&] {
        const Candidate candidate = variant(seed, point, ++number);
        judge->evaluate(std::span(&candidate, 1), Depth::screen, {},
                        [&](const Evaluation& evaluation) { right &= evaluation.outcome == Outcome::correct; });
    };
    judge_one();  // builds the reference and starts the compiler
    for (auto _ : state) judge_one();
    if (!right) state.SkipWithError("a candidate is not correct");
    state.counters["target ms"] = kTargetMs;
}

BENCHMARK_CAPTURE(screen, plain, "plain.cu", {})->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(screen, warp, "warp.cu", {{"ROWS", 4}})->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(screen, vector, "vector.cu", {{"VECS", 2}})->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace recuda

/// This program is its own compile worker; it and its workers share one core.
int main(int count, char** words) {
    if (count == 2 && std::string_view(words[1]) == "compile-worker") return recuda::serve_compile_worker();
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(static_cast<size_t>(sched_getcpu()), &cores);
    if (sched_setaffinity(0, sizeof cores, &cores) != 0) return 1;
    benchmark::Initialize(&count, words);
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
