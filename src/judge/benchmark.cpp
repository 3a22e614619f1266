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
// A time below so much of the floor is impossible. A cache that replaces at random still holds 2 % of a ring of four
// times its size when its turn comes again (h = exp(-4 (1 - h))); the rest is what two measurements of one card differ
// by.
constexpr double kFloorShare = 0.95;
constexpr double kLaunchNs = 3000;      // a guess that only chooses how many runs make a sample
constexpr double kLoneLaunchNs = 8000;  // of a single run's time by events, that it has not among others
constexpr std::byte kPoison{0xff};
constexpr uint64_t kMostVariedBytes = uint64_t{256} << 20;  // of inputs of which there are several
constexpr uint64_t kMadeBytes = uint64_t{64} << 20;         // of inputs made for one ring
constexpr uint64_t kMostScratchBytes = uint64_t{1} << 30;
constexpr size_t kMostVariants = 10, kMostKept = 64;
constexpr double kJudgedBytes = 4 << 20;  // of outputs judged for one program before it is timed
// A timing may take so long beside its runs, and its runs so many times what one alone took.
constexpr double kTimingSeconds = 5, kTimingSlack = 50;
constexpr uint32_t kWarmSamples = 10;
constexpr double kClockTolerance = 0.05;

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

/// Says that the SM clock moved while it was timed, "" where it did not.
std::string clock_change(const std::vector<double>& clock_mhz) {
    if (clock_mhz.empty()) return "";
    const auto [low, high] = std::minmax_element(clock_mhz.begin(), clock_mhz.end());
    if (*low <= 0 || *high <= (1 + kClockTolerance) * *low) return "";
    return fmt::format("the SM clock moved between {:.0f} and {:.0f} MHz", *low, *high);
}

}  // namespace

Benchmark::Benchmark(const Task& task, Device& device, Cases& cases, const Peaks& peaks)
    : task_(task), device_(device), cases_(cases), peaks_(peaks) {}
Benchmark::~Benchmark() = default;

void Benchmark::forget() {
    rings_.clear();
    right_.clear();
    judged_right_.clear();
}

/// How many inputs the sets hold in turn: so many that the runs of a sample differ, as far as their answers are to be
/// had at little cost; one alone of tensors that fill memories.
size_t Benchmark::variants_for(const Axes& axes) const {
    uint64_t input_bytes = 0;
    for (const TensorSpec& input : task_.op->inputs)
        input_bytes += static_cast<uint64_t>(buffer_elements(input, axes)) * size_bytes(input.dtype);
    if (input_bytes > kMostVariedBytes) return 1;
    const auto judged = static_cast<size_t>(kJudgedBytes / std::max(1.0, written_bytes(task_, axes)));
    const size_t made = kMadeBytes / std::max<uint64_t>(1, input_bytes);
    return std::min(std::clamp<size_t>(judged, 3, kMostVariants), std::max<size_t>(2, made));
}

Ring& Benchmark::ring(const Axes& axes) {
    std::unique_ptr<Ring>& ring = rings_[axes];
    if (!ring) {
        std::vector<const InputContents*> variants;
        for (size_t i = 0; i < variants_for(axes); ++i)
            variants.push_back(&cases_.at(axes, Battery::normal, static_cast<unsigned>(i)).inputs);
        ring = std::make_unique<Ring>(task_, device_, axes, variants, device_.info().l2_bytes);
    }
    return *ring;
}

/// Runs once on each input where it will be timed, judges what lies there then, and keeps the hashes. Outputs that were
/// judged before, of whichever program, are known by their hash.
Benchmark::Right Benchmark::right_outputs(const Runs& runs, Ring& sets) {
    if (const auto known = right_.find({runs.program.serial(), runs.workload}); known != right_.end())
        return known->second;
    Right right;
    Scratch scratch(device_, runs.program.plan(runs.workload));
    for (size_t set = 0; set < sets.variants(); ++set) {
        sets.reset(set, 1, kPoison);
        scratch.reset(kPoison);
        const Case& one = cases_.at(runs.program.axes(runs.workload), Battery::normal, static_cast<unsigned>(set));
        const Execution execution =
            device_.run(runs.program.launches(runs.workload, merged(sets.places(set), scratch.places())),
                        {.deadline_s = std::max(1.0, 50e-9 * one.trusted_ns), .count = false});
        right.outcome = execution.outcome;
        right.log = execution.reports.empty() ? execution.log : execution.reports.front().message;
        if (right.outcome != Outcome::correct) return right;
        right.run_ns = std::max(right.run_ns, execution.gpu_ns);
        std::vector<Region> regions;
        for (const TimedOutput& output : sets.outputs(set)) regions.push_back(output.region);
        const std::vector<uint64_t>& hashes = right.hashes.emplace_back(device_.hashes(regions));
        if (judged_right_[{runs.program.axes(runs.workload), set}].contains(hashes)) continue;
        if (const std::string wrong = wrong_values(runs.program.axes(runs.workload), sets, set); !wrong.empty())
            return {.outcome = Outcome::wrong, .log = wrong};
        judged_right_[{runs.program.axes(runs.workload), set}].insert(hashes);
    }
    keep(runs, right);
    return right;
}

void Benchmark::keep(const Runs& runs, const Right& right) {
    if (right_.size() > kMostKept) right_.clear();
    right_[{runs.program.serial(), runs.workload}] = right;
}

uint32_t Benchmark::runs_per_sample(const Runs& runs, const Ring& sets, double run_ns) const {
    const double bandwidth = std::max(100.0, memory_bytes_per_ns());
    const double guess_ns =
        kLaunchNs * static_cast<double>(std::max<size_t>(1, runs.program.plan(runs.workload).launches.size())) +
        static_cast<double>(bytes_of(task_, runs.program.axes(runs.workload))) / bandwidth;
    const double wanted = std::ceil(kSampleSpanNs / std::max(guess_ns, run_ns - kLoneLaunchNs));
    return static_cast<uint32_t>(
        std::clamp(wanted, 1.0, static_cast<double>(std::min<size_t>(kMostRunsASample, sets.sets()))));
}

Timed Benchmark::time(LoadedProgram& program, size_t workload, uint32_t samples) {
    const Runs runs{program, workload};
    Ring& sets = ring(runs.program.axes(runs.workload));
    Right right = right_outputs(runs, sets);
    if (right.outcome != Outcome::correct) return {.outcome = right.outcome, .log = "before timing: " + right.log};
    Timed timed = timed_once(runs, samples, sets, right);
    if (right.varies && timed.outcome == Outcome::wrong && timed.log.empty()) {
        keep(runs, right);
        timed = timed_once(runs, samples, sets, right);
    }
    if (timed.outcome == Outcome::correct)
        if (const std::string changed = sets.changed_input(); !changed.empty())
            return {.outcome = Outcome::wrong, .log = changed};
    return timed;
}

/// Where a run left other bits than it did before on the same input, its values are judged: if they are right, `right`
/// learns that results vary, and the outcome is `wrong` without a log, for it has to be timed again.
Timed Benchmark::timed_once(const Runs& runs, uint32_t samples, Ring& sets, Right& right) {
    TimingRequest request{.samples = samples, .warmups = kWarmups, .poison = kPoison};
    request.runs_per_sample = runs_per_sample(runs, sets, right.run_ns);
    const size_t all = size_t{request.runs_per_sample} * (kWarmups + samples);
    const size_t whole = (all + sets.variants() - 1) / sets.variants() * sets.variants();
    const size_t count = std::min({sets.sets(), whole, std::max(kMostSequences, sets.variants())});
    const Stretch stretch{sets.take(count), count};
    const std::vector<std::unique_ptr<Scratch>> scratch = prepare(request, runs, sets, stretch, right);
    Timing timing = device_.time(request);
    if (timing.outcome == Outcome::wrong && timing.wrong_sequence) {
        const std::string wrong =
            wrong_values(runs.program.axes(runs.workload), sets, stretch.first + *timing.wrong_sequence);
        right.varies = true;
        return {.outcome = Outcome::wrong, .log = wrong.empty() ? "" : "in a timed run: " + wrong};
    }
    Timed timed{timing.outcome,
                timing.log,
                timing.method,
                std::move(timing.samples_ns),
                std::move(timing.clock_mhz),
                request.runs_per_sample,
                sets.is_cold()};
    if (timed.outcome != Outcome::correct) return timed;
    timed.method += timed.cold ? fmt::format(", cold: {} buffer sets", sets.sets()) : ", data may lie in L2";
    timed.method += fmt::format(", {} input{} in turn", sets.variants(), sets.variants() == 1 ? "" : "s");
    if (timing.checked_runs > 0) return timed;
    const size_t run = std::min<size_t>(count, size_t{request.runs_per_sample} * samples);
    return judged_by_value(std::move(timed), request, sets, {stretch.first, run}, runs.program.axes(runs.workload));
}

/// Fills in launches over the stretch and what each must leave. Runs of one sample have workspaces of their own, as far
/// as a gigabyte goes: what one keeps there is of no use to the next.
std::vector<std::unique_ptr<Scratch>> Benchmark::prepare(TimingRequest& request, const Runs& runs, Ring& sets,
                                                         Stretch stretch, const Right& right) {
    uint64_t bytes = 0;
    for (const PlannedScratch& one : runs.program.plan(runs.workload).scratch) bytes += one.bytes;
    const uint64_t copies = bytes == 0
                                ? 1
                                : std::clamp<uint64_t>(kMostScratchBytes / bytes, 1,
                                                       std::min<uint64_t>(request.runs_per_sample, stretch.count));
    std::vector<std::unique_ptr<Scratch>> scratch;
    for (uint64_t i = 0; i < copies; ++i) {
        scratch.push_back(std::make_unique<Scratch>(device_, runs.program.plan(runs.workload)));
        scratch.back()->reset(kPoison);
        for (const BufferId buffer : scratch.back()->zeroed()) request.cleared.push_back(buffer);
        for (const BufferId buffer : scratch.back()->others()) request.poisoned.push_back(buffer);
    }
    if (right.varies) sets.reset(stretch.first, stretch.count, kPoison);
    for (size_t i = 0; i < stretch.count; ++i) {
        const size_t set = stretch.first + i;
        request.sequences.push_back(
            runs.program.launches(runs.workload, merged(sets.places(set), scratch[i % copies]->places())));
        if (right.varies) continue;
        std::vector<TimedOutput>& outputs = request.outputs.emplace_back(sets.outputs(set));
        for (size_t k = 0; k < outputs.size(); ++k) outputs[k].hash = right.hashes[sets.variant(set)][k];
    }
    request.deadline_s = kTimingSeconds + kTimingSlack * 1e-9 * right.run_ns *
                                              static_cast<double>(request.runs_per_sample) *
                                              static_cast<double>(kWarmups + request.samples);
    return scratch;
}

/// Judges the values of as many runs as are affordable, the first and the last among them.
Timed Benchmark::judged_by_value(Timed timed, const TimingRequest& request, Ring& sets, Stretch stretch,
                                 const Axes& axes) {
    const auto affordable = static_cast<size_t>(8 * kJudgedBytes / std::max(1.0, written_bytes(task_, axes)));
    size_t judged = std::clamp<size_t>(affordable, std::min<size_t>(2, stretch.count), stretch.count);
    if (has_inout(*task_.op)) {
        // The timed runs have moved a tensor in place on, so one more run from its first state stands for them.
        judged = 1;
        sets.reset(stretch.first, 1, kPoison);
        for (const BufferId buffer : request.poisoned) device_.fill(buffer, kPoison, true);
        for (const BufferId buffer : request.cleared) device_.fill(buffer, std::byte{0}, false);
        const Execution execution = device_.run(request.sequences[0], {.deadline_s = 10, .count = false});
        if (execution.outcome != Outcome::correct) return {.outcome = execution.outcome, .log = execution.log};
    }
    for (size_t i = 0; i < judged; ++i) {
        const size_t set = stretch.first + (judged == 1 ? 0 : i * (stretch.count - 1) / (judged - 1));
        if (const std::string wrong = wrong_values(axes, sets, set); !wrong.empty())
            return {.outcome = Outcome::wrong, .log = "after timing: " + wrong};
    }
    timed.method += fmt::format(", values of {} run{} judged: its results are not the same bits each time", judged,
                                judged == 1 ? "" : "s");
    return timed;
}

/// What is wrong with what lies in a set, "" where it is right.
std::string Benchmark::wrong_values(const Axes& axes, const Ring& sets, size_t set) {
    const Case& one = cases_.at(axes, Battery::normal, static_cast<unsigned>(sets.variant(set)));
    const Finding finding = cases_.judge(one, sets.read(set), one.own);
    return finding.right() ? "" : finding.detail;
}

/// The same set again and again: what it reads lies in the L2 as far as it fits.
Timed Benchmark::time_warm(const Runs& runs, uint32_t samples) {
    Ring& sets = ring(runs.program.axes(runs.workload));
    Right right = right_outputs(runs, sets);
    if (right.outcome != Outcome::correct) return {.outcome = right.outcome, .log = right.log};
    const bool in_place = has_inout(*task_.op);
    right.varies = right.varies || in_place;  // each run goes on from where the one before left the tensor
    TimingRequest request{.samples = samples, .warmups = kWarmups, .poison = kPoison, .cold = false};
    request.runs_per_sample = runs_per_sample(runs, sets, right.run_ns);
    const std::vector<std::unique_ptr<Scratch>> scratch = prepare(request, runs, sets, {0, 1}, right);
    const Timing timing = device_.time(request);
    Timed timed{.outcome = timing.outcome, .log = timing.log, .samples_ns = timing.samples_ns};
    if (in_place && timed.outcome == Outcome::correct)
        return judged_by_value(std::move(timed), request, sets, {0, 1}, runs.program.axes(runs.workload));
    if (!timing.wrong_sequence) return timed;
    const std::string wrong = wrong_values(runs.program.axes(runs.workload), sets, 0);
    if (wrong.empty()) return {.outcome = Outcome::correct};  // its results vary, which the cold runs did not show
    timed.log = "in a timed run on warm data: " + wrong;
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
    if (measurement.unstable.empty()) measurement.unstable = clock_change(timed.clock_mhz);
    const Floor floor = floor_of(axes, timed);
    measurement.floor_ns = floor.ns;
    measurement.floor_of = floor.of;
    measurement.samples_ns = std::move(timed.samples_ns);
    return measurement;
}

/// As measured, else by the data sheet; 0 where neither is known.
double Benchmark::memory_bytes_per_ns() const {
    const double measured = peaks_.bytes_per_ns();
    return measured > 0 ? measured : device_.info().memory_bytes_per_ns;
}

/// The least time of one run. What a sample writes may stay in the L2 until after its end, an L2's worth at most, so
/// that much is not asked of the memory; all else of cold data has to pass through it. Arithmetic is held against the
/// matrix units alone, which nothing else on the card outruns.
Benchmark::Floor Benchmark::floor_of(const Axes& axes, const Timed& timed) const {
    Floor floor;
    if (const double memory = memory_bytes_per_ns(); memory > 0 && timed.cold) {
        const double left_in_cache =
            std::min(written_bytes(task_, axes), static_cast<double>(device_.info().l2_bytes) / timed.runs_per_sample);
        floor = {std::max(0.0, static_cast<double>(bytes_of(task_, axes)) - left_in_cache) / memory, "memory"};
    }
    unsigned bits = 64;
    for (const TensorSpec& input : task_.op->inputs)
        if (is_floating(input.dtype)) bits = std::min(bits, 8 * size_bytes(input.dtype));
    if (const double most = peaks_.most_flops_per_ns(bits); most > 0)
        if (const double ns = static_cast<double>(flops_of(task_, axes)) / most; ns > floor.ns)
            floor = {ns, "arithmetic"};
    return floor;
}

std::string Benchmark::beyond_floor(const Axes& axes, const Measurement& measurement) const {
    // A single time of nothing would make a geometric mean nothing, whatever the other workloads take.
    if (!(measurement.low_ns > 0)) return fmt::format("{} takes no time", shown(axes));
    if (measurement.median_ns >= kFloorShare * measurement.floor_ns) return "";
    const double needed = kFloorShare * measurement.floor_ns / measurement.median_ns;
    if (measurement.floor_of == "arithmetic")
        return fmt::format(
            "{} in {:.0f} ns is beyond the {:.0f} GFLOP/s that {} reaches on this card, by a factor of "
            "{:.2f}",
            shown(axes), measurement.median_ns, peaks_.mma.flops_per_ns, peaks_.mma.instruction, needed);
    return fmt::format("{} in {:.0f} ns needs cold data faster, by a factor of {:.2f}, than at {:.0f} GB/s {}",
                       shown(axes), measurement.median_ns, needed, memory_bytes_per_ns(),
                       peaks_.bytes_per_ns() > 0 ? "measured of this card's memory" : "of the memory's data sheet");
}

Measured Benchmark::measure(LoadedProgram& program, size_t workload, uint32_t samples) {
    Timed timed = time(program, workload, samples);
    Measured measured{timed.outcome, timed.log, {}};
    if (timed.outcome != Outcome::correct) return measured;
    const Axes& axes = program.axes(workload);
    measured.measurement = measurement(axes, std::move(timed));
    measured.log = beyond_floor(axes, measured.measurement);
    if (!measured.log.empty()) {
        measured.outcome = Outcome::impossible;
        return measured;
    }
    Timed warm = time_warm({program, workload}, kWarmSamples);
    measured.outcome = warm.outcome;
    measured.log = warm.log;
    if (warm.outcome != Outcome::correct) return measured;
    if (warm.samples_ns.empty()) return measured;
    measured.measurement.warm_ns = median_of(warm.samples_ns).value;
    measured.measurement.warm_samples_ns = std::move(warm.samples_ns);
    return measured;
}

}  // namespace recuda
