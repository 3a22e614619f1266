// `cuda-rlm check`: one kernel file, built and verified, with what a good engineer would say of it.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/progress.h"
#include "base/text.h"
#include "build/builder.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/device_choice.h"
#include "cli/source_excerpt.h"
#include "device/counters.h"
#include "device/device.h"
#include "device/gpus.h"
#include "device/limits.h"
#include "device/profile.h"
#include "judge/compile.h"
#include "judge/judge.h"
#include "kernel/launch_plan.h"
#include "task/catalogue.h"

namespace recuda {
namespace {

constexpr const char* kNoLegalPoint = "no point of the tunables satisfies every `require`";

struct CheckWords {
    std::string file, task, axes, gpu;
    bool all = false, dry_run = false;
    int64_t schedules = 1;
    DeviceChoice device{.device = "vgpu"};

    bool parse(CommandLine& line) {
        line.word("FILE", file, "Kernel file: CUDA C++, or Triton when it ends in .py", true);
        line.option("--task", "NAME", task, "Task to verify it for; default: its own task directive");
        line.option("--axes", "T=8[,…]", axes, "Exactly this workload instead of the task's own list");
        line.option("--schedules", "N", schedules,
                    "Virtual GPU: run under N warp and block orders; results must not change");
        line.option("--gpu", "NAME", gpu, "Virtual GPU: whose occupancy is shown: h200, l4, rtx4090 …; its target too");
        line.flag("--all", all, "Check every legal point of the tunables, not only the first");
        line.flag("--dry-run", dry_run, "Print the launch plan and launch nothing");
        device.declare(line);
        line.example("cuda-rlm check ops/rmsnorm/seeds/vector.cu --task nano30b_rmsnorm --axes T=8");
        return line.parse();
    }
};

/// A check that ended before the judge: no point of the tunables is legal.
Json refused(const KernelFile& file, const Task& task, const std::string& why) {
    return {{"outcome", name(Outcome::launch_refused)},
            {"task", task.name},
            {"digest", nullptr},
            {"file", json_text(file.name)},
            {"reports", Json::array()},
            {"workloads", Json::array()},
            {"resources", to_json(Resources{})},
            {"facts", to_json(Facts{})},
            {"counters", nullptr},
            {"log", why}};
}

Json to_json(const Schedules& schedules) {
    return {{"run", schedules.run},
            {"different", schedules.different},
            {"seed", schedules.seed == 0 ? Json() : Json(schedules.seed)},
            {"bitwise", schedules.bitwise}};
}

Profile profile_of(const Checked& checked, const DeviceInfo& gpu) {
    Profile profile = profile_of(checked.launches, checked.counters, gpu);
    profile.estimate = checked.evaluation.estimate;
    return profile;
}

Json described(const Checked& checked, const DeviceInfo& gpu) {
    const Evaluation& evaluation = checked.evaluation;
    Json reports = Json::array(), workloads = Json::array();
    for (const Report& report : evaluation.verdict.reports) reports.push_back(to_json(report));
    for (const WorkloadVerdict& workload : evaluation.verdict.workloads) workloads.push_back(to_json(workload));
    Json measurements = Json::array();
    for (const Measurement& measurement : evaluation.measurements) measurements.push_back(to_json(measurement));
    Json document{{"outcome", name(evaluation.outcome)},
                  {"task", evaluation.task},
                  {"digest", evaluation.digest},
                  {"tunables", evaluation.tunables},
                  {"device", evaluation.device},
                  {"seed", evaluation.seed},
                  {"reports", reports},
                  {"workloads", workloads},
                  {"left_out", evaluation.verdict.left_out},
                  {"resources", to_json(evaluation.resources)},
                  {"facts", to_json(evaluation.facts)},
                  {"counters", checked.counters ? to_json(*checked.counters) : Json()},
                  {"measurements", measurements},
                  {"schedules", to_json(checked.schedules)},
                  {"log", json_text(evaluation.verdict.log)}};
    add_to(document, profile_of(checked, gpu));
    return document;
}

std::string point_text(const Point& point) {
    std::vector<std::string> parts;
    for (const auto& [name, value] : point) parts.push_back(fmt::format("{}={}", name, value));
    return joined(parts, " ");
}

/// The verdict for a person: outcome, reports with their source, workloads, resources, traffic.
std::string story(const Checked& checked, const KernelFile& file, const DeviceInfo& gpu) {
    const Evaluation& evaluation = checked.evaluation;
    std::string text = fmt::format("{}: {} for {} on {}  {}\n", file.name, name(evaluation.outcome), evaluation.task,
                                   evaluation.device, point_text(evaluation.tunables));
    for (const Report& report : evaluation.verdict.reports) text += "\n" + shown(report, file.text);
    for (const WorkloadVerdict& workload : evaluation.verdict.workloads) {
        text += fmt::format("  {:<24} {:<10} error {:.3g} of {:.3g} allowed ({})\n", shown(Axes(workload.axes)),
                            name(workload.outcome), workload.max_error, workload.bound, workload.input);
        if (workload.outcome != Outcome::correct && !workload.detail.empty())
            text += fmt::format("      {}\n", workload.detail);
    }
    if (!evaluation.verdict.left_out.empty())
        text += fmt::format("  left out here for their size: {}\n", joined(evaluation.verdict.left_out, "; "));
    if (checked.schedules.run > 1)
        text += fmt::format("  {} orders of warps and blocks, {}\n", checked.schedules.run,
                            checked.schedules.different == 0
                                ? (checked.schedules.bitwise ? "bit-equal" : "all right; floats are added by atomics")
                                : fmt::format("{} runs differ, first with seed {}", checked.schedules.different,
                                              checked.schedules.seed));
    for (const Measurement& measurement : evaluation.measurements)
        text +=
            fmt::format("  {:<24} {:.0f} ns (median of {}; {:.0f} to {:.0f})\n", shown(Axes(measurement.axes)),
                        measurement.median_ns, measurement.samples_ns.size(), measurement.low_ns, measurement.high_ns);
    if (const std::string facts = shown(evaluation.facts); !facts.empty()) text += fmt::format("  code: {}\n", facts);
    text += shown(profile_of(checked, gpu), file.text, colours(1));
    if (!evaluation.verdict.log.empty()) text += "\n" + evaluation.verdict.log + "\n";
    return text;
}

/// All points in a few columns, the lowest estimate first, then the whole story of that one; of the first that is not
/// correct where there is one.
std::string story_of_points(const std::vector<Checked>& all, const KernelFile& file, const DeviceInfo& gpu) {
    std::vector<const Checked*> order;
    for (const Checked& checked : all) order.push_back(&checked);
    const auto key = [](const Checked* checked) {
        const bool right = checked->evaluation.outcome == Outcome::correct;
        return std::pair(right, checked->evaluation.estimate.value_or(0));
    };
    std::stable_sort(order.begin(), order.end(), [&](const Checked* a, const Checked* b) { return key(a) < key(b); });
    std::string text = fmt::format("  {:<15} {:>8} {:>9} {:>9}\n", "outcome", "estimate", "registers", "occupancy");
    for (const Checked* checked : order) {
        const Profile profile = profile_of(*checked, gpu);
        const double share = profile.launches.empty() ? 0 : profile.launches.front().occupancy.share();
        text += fmt::format("  {:<15} {:>8.0f} {:>9} {:>7.0f} %  {}\n", name(checked->evaluation.outcome),
                            checked->evaluation.estimate.value_or(0), checked->evaluation.resources.registers,
                            100 * share, point_text(checked->evaluation.tunables));
    }
    return text + "\n" + story(*order.front(), file, gpu);
}

/// What a build of the candidate gives, or nothing where no compiler can be had: then a plan goes unchecked, and that
/// is said.
std::optional<BuildResult> built_for_plan(const BuildRequest& request) {
    try {
        return make_builder({.workers = 1})->build(request);
    } catch (const Error& why) {
        tell(fmt::format("the plan is not checked against the kernel: {}", why.what()));
        return std::nullopt;
    }
}

/// The plan of the first workload, checked against the kernel as built; a document with an `outcome` where it cannot
/// be.
Json planned(const KernelFile& file, const Task& task, const Axes& axes, const std::optional<Point>& point,
             const DeviceInfo& device) {
    try {
        if (!point) throw LaunchRefused("{}", kNoLegalPoint);
        const Candidate candidate = make_candidate(std::make_shared<const KernelFile>(file), *point);
        const DeviceLimits limits = limits_of(device);
        Compilation compilation =
            compile(candidate, task, {&axes, 1}, limits, {.target = device.target, .cubin = false});
        LaunchPlan& plan = compilation.uses.front().plan;
        const std::optional<BuildResult> built = built_for_plan(compilation.requests.front());
        if (built && built->outcome != Outcome::correct) {
            Json document = refused(file, task, built->log);
            document["outcome"] = name(built->outcome);
            return document;
        }
        if (built) fit(plan, built->binaries, limits);
        Json document = to_json(plan);
        document["axes"] = axes;
        document["tunables"] = *point;
        return document;
    } catch (const LaunchRefused& why) {
        return refused(file, task, why.what());
    }
}

int dry_run(const CommandLine& line, const KernelFile& file, const Task& task, const std::vector<Axes>& workloads,
            const DeviceInfo& device) {
    const std::optional<Point> point = first_legal_point(file, workloads, limits_of(device));
    const Json document = planned(file, task, workloads.front(), point, device);
    if (line.json())
        print_json(document);
    else
        print_text(dump(document, 2) + "\n");
    return document.contains("outcome") ? 3 : 0;
}

Json document_of(const std::vector<Checked>& all, bool every_point, const DeviceInfo& gpu) {
    if (!every_point) return described(all.front(), gpu);
    Json points = Json::array();
    Outcome worst = Outcome::correct;
    for (const Checked& checked : all) {
        points.push_back(described(checked, gpu));
        worst = worse(worst, checked.evaluation.outcome);
    }
    return {{"outcome", name(worst)}, {"points", points}};
}

}  // namespace

int check_command(CommandLine& line) {
    CheckWords words;
    if (!words.parse(line)) return 0;
    if (words.schedules < 1 || words.schedules > 10'000) throw UsageError("--schedules takes a number from 1 to 10000");
    const auto file = std::make_shared<const KernelFile>(read_kernel_file(words.file));
    const std::string task_name = words.task.empty() ? file->task : words.task;
    if (task_name.empty()) throw UsageError("{} names no task; give one with --task", file->name);
    const Task task = Catalogue(home_folder()).task(task_name);
    check_names(*file, *task.op);

    if (!words.gpu.empty() && words.device.target.empty()) words.device.target = gpu_named(words.gpu).target;
    JudgeOptions options{
        .target = words.device.target, .seed = words.device.seed, .schedules = static_cast<unsigned>(words.schedules)};
    if (!words.axes.empty()) options.axes = {axes_from_text(task, words.axes)};
    std::unique_ptr<Device> device = make_device(words.device);
    const DeviceInfo gpu = words.gpu.empty() ? device->info() : gpu_named(words.gpu);
    const DeviceLimits limits = limits_of(device->info());
    const std::vector<Axes>& workloads = options.axes.empty() ? task.verify : options.axes;
    if (words.dry_run) return dry_run(line, *file, task, workloads, device->info());

    std::vector<Point> points;
    if (words.all)
        points = legal_points(*file, workloads, limits);
    else if (auto first = first_legal_point(*file, workloads, limits))
        points.push_back(std::move(*first));
    if (points.empty()) {
        const std::string why = kNoLegalPoint;
        Json document = refused(*file, task, why);
        if (words.all) document = {{"outcome", name(Outcome::launch_refused)}, {"points", Json::array()}, {"log", why}};
        if (line.json())
            print_json(document);
        else
            print_text(fmt::format("{}: launch_refused: {}\n", file->name, why));
        return 3;
    }
    std::vector<Candidate> candidates;
    for (Point& point : points) candidates.push_back(make_candidate(file, std::move(point)));
    const std::unique_ptr<Builder> builder = make_builder();
    const std::vector<Checked> all = check(task, std::move(device), *builder, candidates, options);
    if (line.json())
        print_json(document_of(all, words.all, gpu));
    else
        print_text(words.all ? story_of_points(all, *file, gpu) : story(all.front(), *file, gpu));
    const bool right = std::all_of(all.begin(), all.end(),
                                   [](const Checked& one) { return one.evaluation.outcome == Outcome::correct; });
    return right ? 0 : 3;
}

}  // namespace recuda
