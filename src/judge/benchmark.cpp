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
// How far cold data may seem to outrun the memory. A cache that replaces at random still holds 6 % of a ring of three
// times its size when its turn comes again (h = exp(-3 (1 - h))); the rest is what two measurements of one memory
// differ by.
constexpr double kPeakTolerance = 1.10;
constexpr double kLaunchNs = 3000;  // a guess that only chooses how many runs make a sample
constexpr std::byte kPoison{0xff};

bool has_inout(const Op& op) {
    return std::any_of(op.inputs.begin(), op.inputs.end(), [](const TensorSpec& input) { return input.inout; });
}

/// What one run must write at least.
double written_bytes(const Task& task, const Axes& axes) {
    double bytes = 0;
    for (const TensorSpec* tensor : written_tensors(*task.op))
        bytes += static_cast<double>(volume(shape_of(*tensor, axes)) * size_bytes(tensor->dtype));
    return bytes;
}

}  // namespace

Benchmark::Benchmark(const Task& task, Device& device, Cases& cases, const Peaks& peaks)
    : task_(task), device_(device), cases_(cases), peaks_(peaks) {}
Benchmark::~Benchmark() = default;

void Benchmark::forget() { rings_.clear(); }

Ring& Benchmark::ring(const Axes& axes) {
    std::unique_ptr<Ring>& ring = rings_[axes];
    if (!ring) ring = std::make_unique<Ring>(task_, device_, cases_.at(axes, Battery::normal), device_.info().l2_bytes);
    return *ring;
}

Timed Benchmark::time(Program& program, size_t workload, uint32_t samples) {
    const Axes& axes = program.axes(workload);
    Ring& sets = ring(axes);
    // A tensor map has no offset: such a program is timed on the first set alone, where it lies at the buffers'
    // beginning.
    const bool fixed = program.has_tensor_maps(workload);
    const double bandwidth = std::max(100.0, memory_bytes_per_ns());
    const double guess_ns = kLaunchNs * static_cast<double>(program.plan(workload).launches.size()) +
                            static_cast<double>(bytes_of(task_, axes)) / bandwidth;
    TimingRequest request{.samples = samples, .warmups = kWarmups};
    request.runs_per_sample = static_cast<uint32_t>(
        std::clamp(std::ceil(kSampleSpanNs / guess_ns), 1.0, static_cast<double>(kMostRunsASample)));
    const size_t taken = size_t{request.runs_per_sample} * (kWarmups + samples);
    const size_t count = fixed ? 1 : std::min({sets.sets(), kMostSequences, taken});
    const size_t first = fixed ? 0 : sets.take(count);
    sets.reset(first, count, kPoison);
    Scratch scratch(device_, program.plan(workload));
    scratch.reset(kPoison);
    request.cleared = scratch.zeroed();
    for (size_t i = 0; i < count; ++i)
        request.sequences.push_back(program.launches(workload, merged(sets.places(first + i), scratch.places())));
    Timing timing = device_.time(request);
    Timed timed{timing.outcome,
                timing.log,
                timing.method,
                std::move(timing.samples_ns),
                std::move(timing.clock_mhz),
                request.runs_per_sample,
                !fixed && sets.is_cold()};
    if (timed.outcome != Outcome::correct) return timed;
    timed.method += timed.cold ? fmt::format(", cold: {} buffer sets", sets.sets()) : ", data may lie in L2";

    // What was timed must also be right. Where a tensor is written in place the timed runs have moved it on, so one
    // more run from its first state stands for them.
    const size_t run = std::min(count, taken);
    std::vector<size_t> judged{0, run / 2, run - 1};
    if (has_inout(*task_.op)) {
        judged = {0};
        sets.reset(first, 1, kPoison);
        scratch.reset(kPoison);
        const Execution execution = device_.run(request.sequences[0], {.deadline_s = 10});
        if (execution.outcome != Outcome::correct) return {.outcome = execution.outcome, .log = execution.log};
    }
    const Case& one = cases_.at(axes, Battery::normal);
    for (const size_t i : judged) {
        const Finding finding = cases_.judge(one, sets.read(first + i), one.own);
        if (!finding.right()) return {.outcome = Outcome::wrong, .log = "after timing: " + finding.detail};
    }
    return timed;
}

Measurement Benchmark::measurement(const Axes& axes, Timed timed) const {
    const Median median = median_of(timed.samples_ns);
    Measurement measurement{.axes = axes, .median_ns = median.value, .low_ns = median.low, .high_ns = median.high};
    measurement.bytes = bytes_of(task_, axes);
    measurement.bytes_per_ns = median.value > 0 ? static_cast<double>(measurement.bytes) / median.value : 0;
    if (const double peak = peaks_.bytes_per_ns(); peak > 0)
        measurement.share_of_peak = measurement.bytes_per_ns / peak;
    measurement.clock_mhz = median_of(timed.clock_mhz).value;
    measurement.method = std::move(timed.method);
    measurement.unstable = instability(timed.samples_ns, median);
    measurement.samples_ns = std::move(timed.samples_ns);
    return measurement;
}

/// As measured, else by the data sheet; 0 where neither is known.
double Benchmark::memory_bytes_per_ns() const {
    const double measured = peaks_.bytes_per_ns();
    return measured > 0 ? measured : device_.info().memory_bytes_per_ns;
}

/// Why the time is impossible, or "". What a sample writes may stay in the L2 until after its end, an L2's worth at
/// most, so that much is not asked of the memory; all else of cold data has to pass through it.
std::string Benchmark::beyond_memory(const Axes& axes, const Timed& timed, const Measurement& measurement) const {
    const double memory = memory_bytes_per_ns();
    if (memory <= 0 || !timed.cold || measurement.median_ns <= 0) return "";
    const double left_in_cache =
        std::min(written_bytes(task_, axes), static_cast<double>(device_.info().l2_bytes) / timed.runs_per_sample);
    const double through_memory = (static_cast<double>(measurement.bytes) - left_in_cache) / measurement.median_ns;
    if (through_memory <= kPeakTolerance * memory) return "";
    return fmt::format("{} needs at least {:.0f} GB/s of cold data, beyond the {:.0f} GB/s {}", shown(axes),
                       through_memory, memory,
                       peaks_.bytes_per_ns() > 0 ? "measured of this card's memory" : "of the memory's data sheet");
}

Measured Benchmark::measure(Program& program, size_t workload, uint32_t samples) {
    Timed timed = time(program, workload, samples);
    Measured measured{timed.outcome, timed.log, {}};
    if (timed.outcome != Outcome::correct) return measured;
    const Axes& axes = program.axes(workload);
    measured.measurement = measurement(axes, timed);
    measured.log = beyond_memory(axes, timed, measured.measurement);
    if (!measured.log.empty()) measured.outcome = Outcome::impossible;
    return measured;
}

}  // namespace recuda
