#include "judge/session.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <random>

#include "base/file.h"
#include "base/text.h"
#include "build/builder.h"
#include "device/limits.h"
#include "judge/estimate.h"
#include "judge/float_atomics.h"
#include "judge/statistics.h"
#include "task/catalogue.h"
#include "task/op.h"

namespace recuda {
namespace {

constexpr uint32_t kScreenSamples = 10, kWholeSamples = 30;

/// Fills in what the options leave open. Throws UsageError for a baseline that there is not.
JudgeOptions completed(JudgeOptions options, const Device& device) {
    check_baselines(options.baselines);
    if (options.target.empty()) options.target = device.info().target;
    while (options.seed == 0) options.seed = uint64_t{std::random_device{}()} << 32 | std::random_device{}();
    return options;
}

DeviceLimits limits_for(const Device& device, const std::string& target) {
    DeviceInfo info = device.info();
    info.target = target;
    return limits_of(info);
}

std::string device_text(const DeviceInfo& info, const std::string& target) {
    return info.kind == DeviceKind::vgpu ? "vgpu " + target : "cuda " + info.name + " " + target;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Evaluation begun(const Candidate& candidate, const Task& task, const Built& built, Depth depth) {
    Evaluation evaluation;
    evaluation.digest = candidate.digest;
    evaluation.task = task.name;
    evaluation.origin = candidate.origin;
    evaluation.parent = candidate.parent;
    evaluation.language = candidate.file->language == Language::cuda ? "cuda" : "triton";
    evaluation.idea = candidate.file->idea;
    evaluation.tunables = candidate.point;
    evaluation.resources = built.resources;
    evaluation.build_seconds = built.seconds;
    evaluation.stage = depth == Depth::screen ? "screen" : "whole";
    evaluation.when = utc_now();
    return evaluation;
}

void conclude(Evaluation& evaluation, Outcome outcome, const std::string& log) {
    evaluation.outcome = evaluation.verdict.outcome = outcome;
    if (!log.empty()) evaluation.verdict.log = log;
}

/// Whether a kernel ended the process that held the GPU: a fault that the hardware found, a run past its deadline.
bool took_process_down(const Verdict& verdict, const DeviceInfo& info) {
    return info.kind == DeviceKind::cuda && verdict.reports.empty() &&
           (verdict.outcome == Outcome::faulted || verdict.outcome == Outcome::timed_out);
}

/// The first float atomic of what was built, "" where there are none.
std::string float_atomic_of(const Program& program) {
    for (const std::vector<Binary>& binaries : program.built())
        for (const Binary& binary : binaries)
            if (std::string found = float_atomic(binary.ptx); !found.empty()) return found;
    return "";
}

/// Launches of the first workload, each with what its own entry uses.
std::vector<BuiltLaunch> built_launches(const Program& program) {
    std::vector<BuiltLaunch> launches;
    for (const PlannedLaunch& planned : program.plan(0).launches) {
        BuiltLaunch& launch =
            launches.emplace_back(BuiltLaunch{planned.kernel, planned.grid, planned.block, planned.shared_bytes, {}});
        const std::vector<Binary>& binaries = program.built().front();
        if (planned.unit >= binaries.size()) continue;
        if (const Entry* entry = binaries[planned.unit].find(planned.kernel)) launch.resources = entry->resources;
    }
    return launches;
}

/// The comparison over all workloads: geometric means of ratio and bounds, which is wider than the true interval.
Comparison combined(const std::vector<Comparison>& each) {
    std::vector<double> ratios, lows, highs;
    for (const Comparison& one : each) ratios.push_back(one.ratio), lows.push_back(one.low), highs.push_back(one.high);
    const Median ratio{geometric_mean(ratios), geometric_mean(lows), geometric_mean(highs)};
    return {each.front().baseline,
            verdict_of(ratio, 0.01),
            ratio.value,
            ratio.low,
            ratio.high,
            {},
            each.front().evidence + ", geometric mean of the workloads"};
}

/// A comparison that there is not, for the baseline's own fault.
Comparison not_compared(const std::string& baseline, const Axes& axes, const Benchmark::Compared& compared) {
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    return {baseline,
            Comparing::inconclusive,
            kNone,
            kNone,
            kNone,
            axes,
            fmt::format("no comparison: the baseline is {}: {}", name(compared.outcome), compared.log)};
}

}  // namespace

Session::Session(Task task, std::unique_ptr<Device> device, Builder& builder, JudgeOptions options)
    : task_(std::move(task)),
      device_(std::move(device)),
      builder_(builder),
      options_(completed(std::move(options), *device_)),
      limits_(limits_for(*device_, options_.target)),
      reference_(task_, *device_, builder_, options_.target),
      cases_(task_, *device_, reference_, options_.seed),
      peaks_(measure_peaks(*device_, builder_, options_.target)),
      benchmark_(task_, *device_, cases_, peaks_),
      baselines_(options_.baselines) {
    (void)workloads(Depth::whole);  // a task without any is refused before anything is built for it
}

Session::~Session() = default;

std::vector<Workload> Session::workloads(Depth depth) const {
    return verified_workloads(task_, info().kind, options_.axes, depth);
}

const std::vector<Axes>& Session::measured_axes() const { return options_.axes.empty() ? task_.bench : options_.axes; }

/// Verified workloads first, in their order; then those that are only measured.
std::vector<Axes> Session::built_axes(Depth depth) const {
    std::vector<Axes> all;
    for (const Workload& workload : workloads(depth)) all.push_back(workload.axes);
    if (info().measures_time)
        for (const Axes& axes : measured_axes())
            if (std::find(all.begin(), all.end(), axes) == all.end()) all.push_back(axes);
    return all;
}

void Session::open() {
    if (open_) return;
    reference_.prepare(built_axes(Depth::whole));
    const OwnPlace place{task_, *device_, builder_, limits_, options_.target, built_axes(Depth::whole)};
    if (const auto plain = seed_named(*task_.op, "plain")) cases_.trust(own_program(place, *plain, {}));
    baselines_.open({place, cases_, benchmark_});
    open_ = true;
}

Order Session::order(const Candidate& candidate, Depth depth) const {
    // PTX is enough to screen on the virtual GPU, at half the time; a cubin tells registers and spills.
    const CompileOptions options{.target = options_.target,
                                 .cubin = info().kind == DeviceKind::cuda || depth == Depth::whole};
    return order_of(candidate, task_, built_axes(depth), limits_, options);
}

Judged Session::judge(const Candidate& candidate, Built built, Depth depth, bool stop_at_failure,
                      const std::stop_token& stop) {
    const auto start = std::chrono::steady_clock::now();
    open();
    Judged judged;
    judged.evaluation = begun(candidate, task_, built, depth);
    Evaluation& evaluation = judged.evaluation;
    evaluation.device = device_text(info(), options_.target);
    evaluation.target = options_.target;
    conclude(evaluation, built.outcome, built.log);
    if (built.outcome == Outcome::correct) {
        try {
            Program program(*device_, std::move(built.compilation), std::move(built.binaries), limits_);
            judged.launches = built_launches(program);
            const std::string atomic = task_.op->exact || options_.schedules > 1 ? float_atomic_of(program) : "";
            if (task_.op->exact && !atomic.empty())
                conclude(evaluation, Outcome::refused,
                         fmt::format("{} adds floats in no fixed order, which an exact task does not allow", atomic));
            else
                verify_into(judged, program, depth,
                            {options_.schedules, !atomic.empty(), options_.count, stop_at_failure, stop,
                             [&] { forget(program); }});
            if (evaluation.outcome == Outcome::correct && !judged.stopped && info().measures_time) {
                try {
                    measure_into(evaluation, program, depth);
                } catch (const DeviceLost&) {
                    forget(program);
                    measure_into(evaluation, program, depth);
                }
            }
        } catch (const LaunchRefused& refused) {
            conclude(evaluation, Outcome::launch_refused, refused.what());
        }
    }
    cases_.trim();
    evaluation.judge_seconds = seconds_since(start);
    return judged;
}

void Session::verify_into(Judged& judged, Program& program, Depth depth, const VerifyOptions& options) {
    Verified verified = verify(program, workloads(depth), task_, *device_, cases_, options);
    if (took_process_down(verified.verdict, info())) {
        // Once more, alone in a fresh process: what an earlier job or the card did is not this candidate's fault.
        const std::string first = fmt::format("{}: {}", name(verified.verdict.outcome), verified.verdict.log);
        options.forget();
        verified = verify(program, workloads(depth), task_, *device_, cases_, options);
        verified.verdict.log +=
            verified.verdict.outcome == Outcome::correct
                ? fmt::format("a first attempt failed and did not do so again, alone in a fresh process; it was {}",
                              first)
                : "it failed twice, the second time alone in a fresh process\n";
    }
    Evaluation& evaluation = judged.evaluation;
    judged.stopped = verified.stopped;
    judged.schedules = verified.schedules;
    evaluation.verdict = std::move(verified.verdict);
    evaluation.outcome = evaluation.verdict.outcome;
    if (info().kind == DeviceKind::vgpu && options_.axes.empty())
        for (const Axes& axes : task_.left_out_as_small()) evaluation.verdict.left_out.push_back(shown(axes));
    if (verified.counters.empty()) return;
    auto sum = std::make_shared<Counters>();
    for (const auto& [axes, counters] : verified.counters) sum->add(*counters);
    judged.counters = std::move(sum);
    if (evaluation.outcome == Outcome::correct && !info().measures_time) estimate_into(evaluation, program, verified);
}

void Session::estimate_into(Evaluation& evaluation, const Program& program, const Verified& verified) const {
    std::vector<double> estimates;
    for (const EstimatedWorkload& one : estimated_workloads(task_, info().kind, options_.axes)) {
        const auto counted = verified.counters.find(one.axes);
        const size_t workload = program.workload_of(one.axes);
        if (counted == verified.counters.end() || workload == program.workloads()) return;
        estimates.push_back(estimate({*counted->second, program.plan(workload), info(), one.scale,
                                      static_cast<double>(bytes_of(task_, one.axes))}));
    }
    evaluation.estimate = geometric_mean(estimates);
}

/// Measures; what takes its process down is tried once more, in a fresh one.
Measured Session::measure_alone(Evaluation& evaluation, Program& program, const Axes& axes, Depth depth) {
    const uint32_t samples = depth == Depth::screen ? kScreenSamples : kWholeSamples;
    Measured measured = benchmark_.measure(program, program.workload_of(axes), samples);
    if (measured.outcome != Outcome::faulted && measured.outcome != Outcome::timed_out) return measured;
    forget(program);
    const std::string first = fmt::format("{}: {}", name(measured.outcome), measured.log);
    measured = benchmark_.measure(program, program.workload_of(axes), samples);
    if (measured.outcome == Outcome::correct)
        evaluation.verdict.log += fmt::format(
            "a first timing at {} failed and did not do so again, in a fresh process; it was {}\n", shown(axes), first);
    return measured;
}

void Session::measure_into(Evaluation& evaluation, Program& program, Depth depth) {
    std::vector<double> medians;
    evaluation.measurements.clear();
    evaluation.comparisons.clear();
    evaluation.baseline_measurements.clear();
    for (const Axes& axes : measured_axes()) {
        Measured measured = measure_alone(evaluation, program, axes, depth);
        if (measured.outcome == Outcome::correct || measured.outcome == Outcome::impossible) {
            medians.push_back(measured.measurement.median_ns);
            evaluation.measurements.push_back(std::move(measured.measurement));
        }
        if (measured.outcome == Outcome::correct) continue;
        conclude(evaluation, measured.outcome, measured.log);
        if (measured.outcome != Outcome::impossible) forget(program);
        return;
    }
    if (medians.empty()) return;
    evaluation.median_ns = geometric_mean(medians);
    if (depth == Depth::whole) compare_into(evaluation, program);
}

void Session::compare_into(Evaluation& evaluation, Program& program) {
    for (const std::unique_ptr<Baseline>& baseline : baselines_.all())
        if (!compare_into(evaluation, program, *baseline)) return forget(program);
}

/// False where the candidate itself failed: then there is nothing more to compare.
bool Session::compare_into(Evaluation& evaluation, Program& program, Baseline& baseline) {
    std::vector<Comparison> each;
    for (const Axes& axes : measured_axes()) {
        Benchmark::Compared compared = benchmark_.compare(program, program.workload_of(axes), baseline);
        if (compared.outcome != Outcome::correct && compared.by_baseline) {
            evaluation.comparisons.push_back(not_compared(baseline.name(), {}, compared));
            evaluation.comparisons.push_back(not_compared(baseline.name(), axes, compared));
            if (compared.outcome != Outcome::wrong) forget(program);
            return true;
        }
        if (compared.outcome != Outcome::correct) {
            evaluation.verdict.log +=
                fmt::format("no comparison with {} at {}: {}\n", baseline.name(), shown(axes), compared.log);
            return false;
        }
        each.push_back(std::move(compared.comparison));
        evaluation.baseline_measurements.push_back(std::move(compared.baseline));
    }
    if (each.empty()) return true;
    evaluation.comparisons.push_back(combined(each));
    evaluation.comparisons.insert(evaluation.comparisons.end(), each.begin(), each.end());
    return true;
}

void Session::forget(Program& program) {
    program.forget();
    cases_.forget();
    benchmark_.forget();
    baselines_.forget();
}

}  // namespace recuda
