#include "calibration/trial.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "cli/exec_words.h"
#include "device/counters.h"
#include "device/limits.h"
#include "judge/build.h"
#include "judge/inputs.h"
#include "judge/ring.h"
#include "judge/statistics.h"
#include "task/op.h"

namespace recuda::calibration {
namespace {

constexpr double kSampleSpanNs = 100'000;
constexpr uint32_t kMostRunsASample = 20, kWarmups = 3;
constexpr size_t kMostSequences = 1024;  // more than one timing's runs: none meets data that another has just read
constexpr size_t kMostMicroSets = 128;   // their buffers are made one by one
constexpr double kDeadlineS = 60;
constexpr std::byte kPoison{0xff};

Json triple(const Dim3& dim) { return {dim.x, dim.y, dim.z}; }

/// What the estimate may know of the launches beside the counters.
Json launches_json(std::span<const Launch> launches, const Resources& resources) {
    Json list = Json::array();
    for (const Launch& launch : launches)
        list.push_back({{"grid", triple(launch.grid)},
                        {"block", triple(launch.block)},
                        {"cluster", triple(launch.cluster)},
                        {"shared_bytes", launch.shared_bytes},
                        {"static_shared_bytes", resources.shared_bytes},
                        {"registers", resources.registers}});
    return list;
}

/// Counts the launches on the virtual GPU.
void count_into(Json& record, Device& device, std::span<const Launch> launches) {
    const Execution execution = device.run(launches, {.deadline_s = 10 * kDeadlineS, .checks = false});
    record["outcome"] = name(execution.outcome);
    if (execution.outcome != Outcome::correct) record["log"] = json_text(execution.log);
    if (!execution.counters) return;
    record["counters"] = to_json(*execution.counters);
    for (const char* left_out : {"lines", "mix"}) record["counters"].erase(left_out);
}

/// Times the sequences, each on buffers of its own.
void time_into(Json& record, Device& device, TimingRequest request) {
    // A first short timing says how many runs make a sample.
    TimingRequest first = request;
    first.samples = 3, first.warmups = 1, first.runs_per_sample = 1;
    Timing timing = device.time(first);
    if (timing.outcome == Outcome::correct) {
        const double guess_ns = std::max(1000.0, median_of(timing.samples_ns).value);
        request.runs_per_sample = static_cast<uint32_t>(
            std::clamp(std::ceil(kSampleSpanNs / guess_ns), 1.0, static_cast<double>(kMostRunsASample)));
        timing = device.time(request);
    }
    record["outcome"] = name(timing.outcome);
    if (timing.outcome != Outcome::correct) {
        record["log"] = json_text(timing.log);
        return;
    }
    const Median median = median_of(timing.samples_ns);
    record["median_ns"] = median.value;
    record["low_ns"] = median.low;
    record["high_ns"] = median.high;
    record["samples_ns"] = timing.samples_ns;
    record["clock_mhz"] = median_of(timing.clock_mhz).value;
    record["runs_per_sample"] = request.runs_per_sample;
    record["buffer_sets"] = request.sequences.size();
    record["method"] = timing.method;
    record["unstable"] = instability(timing.samples_ns, median);
}

/// Inputs of one workload as a ring of buffer sets; one pair of sets suffices where nothing is timed.
std::unique_ptr<Ring> make_ring(const Task& task, const Axes& axes, Device& device, uint64_t seed) {
    Case contents(device);
    contents.axes = axes;
    contents.inputs = make_inputs(task, axes, Battery::normal, seed);
    return std::make_unique<Ring>(task, device, contents, device.info().measures_time ? device.info().l2_bytes : 0);
}

void try_workload(Json record, Program& program, size_t workload, Ring& ring, Device& device, const Resources& used,
                  const TrialOptions& options, const Sink& sink) {
    const size_t sets =
        device.info().measures_time && !program.has_tensor_maps(workload) ? std::min(ring.sets(), kMostSequences) : 1;
    const size_t first = sets == 1 ? 0 : ring.take(sets);
    ring.reset(first, sets, kPoison);
    Scratch scratch(device, program.plan(workload));
    scratch.reset(kPoison);
    TimingRequest request{.samples = options.samples, .warmups = kWarmups};
    request.cleared = scratch.zeroed();
    for (size_t i = 0; i < sets; ++i)
        request.sequences.push_back(program.launches(workload, merged(ring.places(first + i), scratch.places())));
    record["launches"] = launches_json(request.sequences.front(), used);
    record["cleared"] = request.cleared.size();
    record["cold"] = ring.is_cold() && sets > 1;
    if (device.info().measures_time)
        time_into(record, device, std::move(request));
    else
        count_into(record, device, request.sequences.front());
    sink(record);
}

std::string words_of(const std::map<std::string, int64_t, std::less<>>& values) {
    std::string text;
    for (const auto& [name, value] : values) text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, value);
    return text;
}

struct MicroBuffers {
    std::vector<ExecBuffer> parsed;
    uint64_t bytes = 0;
};

MicroBuffers micro_buffers(const Micro& micro, uint64_t seed) {
    MicroBuffers buffers;
    for (const std::string& text : micro.buffers) {
        buffers.parsed.push_back(parse_buffer(text, seed));
        const ExecBuffer& one = buffers.parsed.back();
        buffers.bytes += static_cast<uint64_t>(volume(one.shape)) * size_bytes(one.dtype);
    }
    return buffers;
}

/// The launch over a fresh set of buffers.
Launch on_new_buffers(const PlannedLaunch& planned, const std::vector<ExecBuffer>& buffers, ModuleId module,
                      Device& device, Buffers& made, size_t set) {
    Launch launch{.module = module,
                  .entry = planned.kernel,
                  .grid = planned.grid,
                  .block = planned.block,
                  .cluster = planned.cluster,
                  .shared_bytes = planned.shared_bytes};
    std::map<std::string, BufferId> ids;
    for (const ExecBuffer& buffer : buffers) {
        const uint64_t bytes = static_cast<uint64_t>(volume(buffer.shape)) * size_bytes(buffer.dtype);
        const BufferId id = made.add(fmt::format("{}.{}", buffer.name, set), bytes);
        if (buffer.contents) device.write(id, 0, buffer.contents->bytes);
        ids[buffer.name] = id;
    }
    for (const PlannedArgument& argument : planned.arguments) {
        Argument& next = launch.arguments.emplace_back();
        if (argument.kind == PlannedArgument::Kind::buffer)
            next.kind = Argument::Kind::buffer, next.buffer = ids.at(argument.name);
        else
            next.value = argument.value;
    }
    return launch;
}

void try_micro(Json record, const Micro& micro, const Binary& binary, Device& device, const TrialOptions& options,
               const Sink& sink) {
    const MicroBuffers buffers = micro_buffers(micro, options.seed);
    const PlannedLaunch planned = parse_exec_launch(micro.launch, buffers.parsed, micro.defines);
    const Entry* entry = binary.find(planned.kernel);
    if (entry == nullptr) throw Error("{} has no kernel {}", binary.file, planned.kernel);
    const uint64_t l2 = device.info().measures_time ? device.info().l2_bytes : 0;
    const size_t sets = std::clamp<size_t>(3 * l2 / std::max<uint64_t>(1, buffers.bytes) + 1, 1, kMostMicroSets);
    Buffers made(device);
    const ModuleId module = device.load(binary);
    TimingRequest request{.samples = options.samples, .warmups = kWarmups};
    for (size_t i = 0; i < sets; ++i)
        request.sequences.push_back({on_new_buffers(planned, buffers.parsed, module, device, made, i)});
    record["launches"] = launches_json(request.sequences.front(), entry->resources);
    record["cold"] = sets * buffers.bytes > 3 * l2;
    record["least_bytes"] = buffers.bytes;  // at most: a launch may leave some alone
    if (device.info().measures_time)
        time_into(record, device, std::move(request));
    else
        count_into(record, device, request.sequences.front());
    device.unload(module);
    sink(record);
}

Json failure(Json record, std::string_view outcome, const std::string& log) {
    record["outcome"] = outcome;
    record["log"] = json_text(log);
    return record;
}

}  // namespace

void try_task(const TaskEntry& entry, Device& device, Builder& builder, const TrialOptions& options, const Sink& sink) {
    const DeviceLimits limits = limits_of(device.info());
    std::vector<Candidate> candidates;
    for (const auto& file : entry.files)
        for (Candidate& candidate : spread_candidates(file, entry, options.points, limits))
            candidates.push_back(std::move(candidate));
    std::vector<Order> orders;
    for (const Candidate& candidate : candidates)
        orders.push_back(order_of(candidate, entry.task, entry.workloads, limits, {.target = device.info().target}));
    std::vector<Built> built = build_all(builder, std::move(orders));
    std::map<Axes, std::unique_ptr<Ring>> rings;
    for (const Axes& axes : entry.workloads) rings[axes] = make_ring(entry.task, axes, device, options.seed);
    for (size_t i = 0; i < candidates.size(); ++i) {
        const Candidate& candidate = candidates[i];
        Json record{{"op", entry.task.op->name},
                    {"task", entry.task.name},
                    {"file", candidate.file->name},
                    {"point", candidate.point}};
        const std::string id =
            fmt::format("{}/{}/{}", entry.task.name, candidate.file->name, words_of(candidate.point));
        record["id"] = id;
        if (built[i].outcome != Outcome::correct) {
            sink(failure(record, name(built[i].outcome), built[i].log));
            continue;
        }
        const Resources used = built[i].resources;
        try {
            Program program(device, std::move(built[i].compilation), std::move(built[i].binaries), limits);
            for (size_t w = 0; w < program.workloads(); ++w) {
                const Axes& axes = program.axes(w);
                record["axes"] = axes;
                record["id"] = id + "/" + words_of(axes);
                record["workload"] = entry.task.name + "/" + words_of(axes);
                record["least_bytes"] = bytes_of(entry.task, axes);
                try_workload(record, program, w, *rings.at(axes), device, used, options, sink);
            }
        } catch (const Error& error) {
            sink(failure(record, "error", error.what()));
        }
    }
}

void try_micros(const std::vector<Micro>& micros, Device& device, Builder& builder, const TrialOptions& options,
                const Sink& sink) {
    std::vector<BuildRequest> requests;
    for (const Micro& micro : micros)
        requests.push_back({.source = read_file(micro.file, 1 << 20),
                            .file = micro.file.filename().string(),
                            .target = device.info().target,
                            .defines = micro.defines,
                            .candidate = false});
    const std::vector<BuildResult> built = builder.build(requests);
    for (size_t i = 0; i < micros.size(); ++i) {
        const Micro& micro = micros[i];
        const std::string kernel = micro.launch.substr(0, micro.launch.find('<'));
        std::string point;
        for (const auto& [name, value] : micro.defines)
            point += fmt::format("{}{}={}", point.empty() ? "" : ",", name, value);
        Json record{{"op", micro.op},       {"file", requests[i].file},
                    {"kernel", kernel},     {"point", micro.defines},
                    {"workload", micro.op}, {"id", fmt::format("{}/{}/{}", micro.op, kernel, point)}};
        if (built[i].outcome != Outcome::correct) {
            sink(failure(record, name(built[i].outcome), built[i].log));
            continue;
        }
        try {
            try_micro(record, micro, built[i].binaries.front(), device, options, sink);
        } catch (const Error& error) {
            sink(failure(record, "error", error.what()));
        }
    }
}

}  // namespace recuda::calibration
