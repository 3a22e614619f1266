#include "judge/session.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <limits>
#include <random>

#include "base/file.h"
#include "base/text.h"
#include "build/builder.h"
#include "build/sass.h"
#include "device/limits.h"
#include "device/profile.h"
#include "judge/estimate.h"
#include "judge/rules.h"
#include "judge/statistics.h"
#include "task/catalogue.h"
#include "task/op.h"

namespace recuda {
namespace {

using Clock = std::chrono::steady_clock;

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

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

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
    evaluation.facts = built.facts;
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

/// Launches of the first workload, each with what its own entry uses.
std::vector<BuiltLaunch> built_launches(const LoadedProgram& program) {
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

}  // namespace

Profile profile_of(const std::vector<BuiltLaunch>& launches, std::shared_ptr<const Counters> counters,
                   const DeviceInfo& gpu) {
    std::vector<LaunchShape> shapes;
    for (const BuiltLaunch& launch : launches)
        shapes.push_back(shape_of(launch.kernel, launch.grid.volume(), static_cast<uint32_t>(launch.block.volume()),
                                  launch.dynamic_shared_bytes, launch.resources, gpu));
    return profile_of(std::move(counters), std::move(shapes), gpu);
}

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
    return verified_workloads(task_, info().kind, options_.axes, depth, options_.seed);
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

std::string Session::device_text() const {
    return info().kind == DeviceKind::vgpu ? "vgpu " + options_.target : "cuda " + info().name + " " + options_.target;
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
    const CompileOptions options{
        .target = options_.target,
        .cubin = options_.resources || info().kind == DeviceKind::cuda || depth == Depth::whole};
    return order_of(candidate, task_, built_axes(depth), limits_, options);
}

Judged Session::judge(const Candidate& candidate, Built built, Depth depth, bool stop_at_failure,
                      const std::stop_token& stop) {
    const auto start = Clock::now();
    open();
    Judged judged;
    judged.evaluation = begun(candidate, task_, built, depth);
    Evaluation& evaluation = judged.evaluation;
    evaluation.device = device_text();
    evaluation.target = options_.target;
    evaluation.seed = options_.seed;
    conclude(evaluation, built.outcome, built.log);
    if (const std::string why = refusal(evaluation.facts, *task_.op, candidate.file->name); !why.empty())
        conclude(evaluation, Outcome::refused, why);
    if (evaluation.outcome == Outcome::correct) {
        std::future<std::optional<SassFacts>> sass;
        if (depth == Depth::whole) sass = std::async(std::launch::async, sass_facts, built.binaries.front());
        judge_built(judged, std::move(built), depth, stop_at_failure, stop);
        if (sass.valid()) evaluation.facts.sass = sass.get();
        if (judged.counters)
            evaluation.profile =
                shown(profile_of(judged.launches, judged.counters, info()), candidate.file->text, false);
    }
    cases_.trim();
    evaluation.judge_seconds = seconds_since(start);
    return judged;
}

void Session::judge_built(Judged& judged, Built built, Depth depth, bool stop_at_failure, const std::stop_token& stop) {
    Evaluation& evaluation = judged.evaluation;
    try {
        LoadedProgram program(*device_, std::move(built.compilation), std::move(built.binaries), limits_);
        judged.launches = built_launches(program);
        VerifyOptions options{.schedules = options_.schedules,
                              .float_atomics = evaluation.facts.find(FactKind::float_atomic) != nullptr,
                              .count = options_.count,
                              .stop_at_failure = stop_at_failure,
                              .stop = stop,
                              .deadline_s = options_.run_deadline_s,
                              .forget = [&] { forget(program); }};
        if (options_.budget_s > 0)
            options.until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                               std::chrono::duration<double>(options_.budget_s));
        verify_into(judged, program, depth, options);
        if (evaluation.outcome != Outcome::correct || judged.stopped || !info().measures_time) return;
        const auto start = Clock::now();
        try {
            measure_into(evaluation, program, depth);
        } catch (const DeviceLost&) {
            forget(program);
            measure_into(evaluation, program, depth);
        }
        evaluation.measure_seconds = seconds_since(start);
    } catch (const LaunchRefused& refused) {
        conclude(evaluation, Outcome::launch_refused, refused.what());
    }
}

Evaluation Session::turned_down(const Candidate& candidate, const Built& built, Filtered filtered, Depth depth) const {
    Evaluation evaluation = begun(candidate, task_, built, depth);
    evaluation.device = device_text();
    evaluation.target = options_.target;
    evaluation.outcome = filtered.outcome;
    evaluation.verdict = {.outcome = filtered.outcome,
                          .workloads = filtered.workloads,
                          .reports = filtered.reports,
                          .left_out = {},
                          .log = "found by the virtual GPU, before the card was asked\n" + filtered.log};
    evaluation.filter = std::move(filtered);
    return evaluation;
}

void Session::verify_into(Judged& judged, LoadedProgram& program, Depth depth, const VerifyOptions& options) {
    const auto start = Clock::now();
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
    evaluation.verify_seconds = seconds_since(start);
    judged.stopped = verified.stopped;
    judged.complete = verified.complete;
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

void Session::estimate_into(Evaluation& evaluation, const LoadedProgram& program, const Verified& verified) const {
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
Measured Session::measure_alone(Evaluation& evaluation, LoadedProgram& program, const Axes& axes, Depth depth) {
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

void Session::measure_into(Evaluation& evaluation, LoadedProgram& program, Depth depth) {
    std::vector<double> medians;
    evaluation.measurements.clear();
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
    if (!medians.empty()) evaluation.median_ns = geometric_mean(medians);
}

void Session::forget(LoadedProgram& program) {
    program.forget();
    forget_all();
}

/// Everything but programs of candidates.
void Session::forget_all() {
    cases_.forget();
    benchmark_.forget();
    baselines_.forget();
}

}  // namespace recuda
