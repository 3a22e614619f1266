#include "judge/benchmark.h"

#include <algorithm>
#include <cmath>

#include "judge/ring.h"
#include "judge/statistics.h"
#include "task/op.h"

namespace recuda {
namespace {

constexpr uint32_t kWarmups = 3, kMostRunsASample = 20;
constexpr double kSampleSpanNs = 100'000;  // wanted of one sample: 200 times what events resolve
constexpr size_t kMostSequences = 1024;    // of one timing: more than its runs use
constexpr uint32_t kBlocks = 4, kBlockSamples = 8;
constexpr double kMargin = 0.01;  // ratios nearer to one than this are no difference
constexpr double kPeakTolerance = 1.05;
constexpr double kLaunchNs = 3000;  // a guess that only chooses how many runs make a sample
constexpr std::byte kPoison{0xff};

bool has_inout(const Op& op) {
    return std::any_of(op.inputs.begin(), op.inputs.end(), [](const TensorSpec& input) { return input.inout; });
}

}  // namespace

Benchmark::Benchmark(const Task& task, Device& device, Cases& cases) : task_(task), device_(device), cases_(cases) {}
Benchmark::~Benchmark() = default;

void Benchmark::forget() { rings_.clear(); }

Ring& Benchmark::ring(const Axes& axes) {
    std::unique_ptr<Ring>& ring = rings_[axes];
    if (!ring) ring = std::make_unique<Ring>(task_, device_, cases_.at(axes, Battery::normal), device_.info().l2_bytes);
    return *ring;
}

Benchmark::Timed Benchmark::time(Program& program, size_t workload, uint32_t samples) {
    const Axes& axes = program.axes(workload);
    Ring& sets = ring(axes);
    // A tensor map has no offset: such a program is timed on the first set alone, where it lies at the buffers'
    // beginning.
    const bool fixed = program.has_tensor_maps(workload);
    const double bandwidth = std::max(100.0, device_.info().memory_bytes_per_ns);
    const double guess_ns = kLaunchNs * static_cast<double>(program.plan(workload).launches.size()) +
                            static_cast<double>(bytes_of(task_, axes)) / bandwidth;
    TimingRequest request{.samples = samples, .warmups = kWarmups};
    request.runs_per_sample = static_cast<uint32_t>(
        std::clamp(std::ceil(kSampleSpanNs / guess_ns), 1.0, static_cast<double>(kMostRunsASample)));
    const size_t count = fixed ? 1 : std::min(sets.sets(), kMostSequences);
    const size_t first = fixed ? 0 : sets.take(count);
    sets.reset(first, count, kPoison);
    Scratch scratch(device_, program.plan(workload));
    scratch.reset(kPoison);
    request.cleared = scratch.zeroed();
    for (size_t i = 0; i < count; ++i)
        request.sequences.push_back(program.launches(workload, merged(sets.places(first + i), scratch.places())));
    Timing timing = device_.time(request);
    Timed timed{timing.outcome, timing.log, timing.method, std::move(timing.samples_ns), std::move(timing.clock_mhz)};
    if (timed.outcome != Outcome::correct) return timed;
    timed.method +=
        fixed || !sets.is_cold() ? ", data may lie in L2" : fmt::format(", cold: {} buffer sets", sets.sets());

    // What was timed must also be right. Where a tensor is written in place the timed runs have moved it on, so one
    // more run from its first state stands for them.
    const size_t run = std::min<size_t>(count, size_t{request.runs_per_sample} * (kWarmups + samples));
    std::vector<size_t> judged{0, run / 2, run - 1};
    if (has_inout(*task_.op)) {
        judged = {0};
        sets.reset(first, 1, kPoison);
        scratch.reset(kPoison);
        const Execution execution = device_.run(request.sequences[0], {.deadline_s = 10});
        if (execution.outcome != Outcome::correct) return {execution.outcome, execution.log, "", {}, {}};
    }
    const Case& one = cases_.at(axes, Battery::normal);
    for (const size_t i : judged) {
        const Finding finding = cases_.judge(one, sets.read(first + i), one.own);
        if (!finding.right()) return {Outcome::wrong, "after timing: " + finding.detail, "", {}, {}};
    }
    return timed;
}

Measured Benchmark::measure(Program& program, size_t workload, uint32_t samples) {
    Timed timed = time(program, workload, samples);
    Measured measured{timed.outcome, timed.log, {}};
    if (timed.outcome != Outcome::correct) return measured;
    const Axes& axes = program.axes(workload);
    const Median median = median_of(timed.samples_ns);
    const auto bytes = static_cast<double>(bytes_of(task_, axes));
    Measurement& measurement = measured.measurement;
    measurement.axes = axes;
    measurement.median_ns = median.value;
    measurement.low_ns = median.low;
    measurement.high_ns = median.high;
    measurement.bytes_per_ns = median.value > 0 ? bytes / median.value : 0;
    measurement.clock_mhz = median_of(timed.clock_mhz).value;
    measurement.method = timed.method;
    measurement.unstable = instability(timed.samples_ns, median);
    measurement.samples_ns = std::move(timed.samples_ns);
    const double peak = device_.info().memory_bytes_per_ns;
    if (peak > 0 && ring(axes).is_cold() && measurement.bytes_per_ns > kPeakTolerance * peak) {
        measured.outcome = Outcome::impossible;
        measured.log = fmt::format("{} at {} GB/s is beyond the {} GB/s of the card's memory", shown(axes),
                                   std::lround(measurement.bytes_per_ns), std::lround(peak));
    }
    return measured;
}

Benchmark::Compared Benchmark::compare(Program& program, size_t workload, Program& baseline, size_t baseline_workload,
                                       const std::string& name) {
    std::vector<double> own, others;
    Compared compared;
    const auto sample = [&](Program& timed_program, size_t index, std::vector<double>& samples) {
        Timed timed = time(timed_program, index, kBlockSamples);
        if (timed.outcome != Outcome::correct)
            compared.measured.outcome = timed.outcome, compared.measured.log = timed.log;
        samples.insert(samples.end(), timed.samples_ns.begin(), timed.samples_ns.end());
        return timed.outcome == Outcome::correct;
    };
    for (uint32_t block = 0; block < kBlocks; ++block) {
        const bool done = sample(program, workload, own) && sample(baseline, baseline_workload, others) &&
                          sample(baseline, baseline_workload, others) && sample(program, workload, own);
        if (!done) return compared;
    }
    const Median ratio = ratio_of(others, own);
    compared.comparison = {name,
                           verdict_of(ratio, kMargin),
                           ratio.value,
                           ratio.low,
                           ratio.high,
                           program.axes(workload),
                           fmt::format("screening: {} interleaved pairs of samples, one session", own.size())};
    return compared;
}

}  // namespace recuda
