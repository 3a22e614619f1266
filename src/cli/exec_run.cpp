#include "cli/exec_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "build/builder.h"
#include "build/ptx_facts.h"
#include "device/counters.h"
#include "device/gpus.h"
#include "device/limits.h"

namespace recuda {
namespace {

/// The buffers on the device, by name.
class DeviceBuffers {
 public:
    DeviceBuffers(Device& device, const std::vector<ExecBuffer>& buffers) : device_(device) {
        for (const ExecBuffer& buffer : buffers) {
            const uint64_t bytes = static_cast<uint64_t>(volume(buffer.shape)) * size_bytes(buffer.dtype);
            const BufferId id = device.allocate(buffer.name, bytes);
            ids_[buffer.name] = id;
            if (buffer.contents) device.write(id, 0, buffer.contents->bytes);
        }
    }
    /// As they were at first.
    void reset(const std::vector<ExecBuffer>& buffers) {
        for (const ExecBuffer& buffer : buffers)
            if (buffer.contents)
                device_.write(id(buffer.name), 0, buffer.contents->bytes);
            else
                device_.fill(id(buffer.name), std::byte{0}, true);
    }
    BufferId id(const std::string& name) const { return ids_.at(name); }

    Tensor read(const ExecBuffer& buffer) const {
        Tensor tensor(buffer.dtype, buffer.shape);
        device_.read(id(buffer.name), 0, tensor.bytes);
        return tensor;
    }

 private:
    Device& device_;
    std::map<std::string, BufferId> ids_;
};

Argument on_device(const PlannedArgument& planned, const DeviceBuffers& buffers) {
    Argument argument;
    switch (planned.kind) {
        case PlannedArgument::Kind::value:
            argument.value = planned.value;
            break;
        case PlannedArgument::Kind::buffer:
            argument.kind = Argument::Kind::buffer;
            argument.buffer = buffers.id(planned.name);
            break;
        case PlannedArgument::Kind::tensor_map: {
            argument.kind = Argument::Kind::tensor_map;
            const PlannedTensorMap& map = planned.tensor_map;
            argument.tensor_map = std::make_shared<const TensorMap>(
                TensorMap{buffers.id(planned.name), std::string(name(planned.dtype)), map.dims, map.strides_bytes,
                          map.box, map.swizzle, map.element_strides, map.nan_fill});
            break;
        }
    }
    return argument;
}

/// The first element that is not as in the first run, "" where all are.
std::string first_difference(const std::string& name, const Tensor& now, const std::map<std::string, Tensor>& first) {
    const Tensor& before = first.at(name);
    if (now.bytes == before.bytes) return "";
    const auto at = std::mismatch(now.bytes.begin(), now.bytes.end(), before.bytes.begin()).first - now.bytes.begin();
    const int64_t index = at / static_cast<int64_t>(size_bytes(now.dtype));
    return fmt::format("{}[{}] is {}, was {}", name, index, now.at(index), before.at(index));
}

/// The entry of that name, also where C++ has mangled it and no other overload is there; null where there is none.
const Entry* find_kernel(const Binary& binary, const std::string& name) {
    if (const Entry* plain = binary.find(name)) return plain;
    const std::string mangled =
        fmt::format("_Z{}{}", name.size(), name);  // Itanium C++ ABI, 5.1.2: a name at namespace scope
    const Entry* found = nullptr;
    for (const Entry& entry : binary.entries) {
        if (!entry.name.starts_with(mangled)) continue;
        if (found != nullptr) return nullptr;
        found = &entry;
    }
    return found;
}

/// What ptxas makes of the entry; nothing where it cannot.
Resources resources_of(BuildRequest request, const std::string& entry) {
    request.cubin = true;
    try {
        const BuildResult built = make_builder({.workers = 1})->build(request);
        const Entry* found = built.outcome == Outcome::correct ? built.binaries.front().find(entry) : nullptr;
        return found == nullptr ? Resources{} : found->resources;
    } catch (const Error&) {
        return {};  // no assembler here: the kernel has run without
    }
}

/// Runs the launch again in other orders and compares the buffers' bytes.
void run_other_orders(ExecResult& result, const ExecRequest& request, const Launch& launch, DeviceBuffers& on,
                      Device& device) {
    result.orders.run = request.schedules;
    for (int64_t i = 1; i < request.schedules; ++i) {
        const uint64_t seed = request.device.seed + static_cast<uint64_t>(i);
        on.reset(request.buffers);
        Execution other =
            device.run({&launch, 1}, {.deadline_s = request.deadline_s, .schedule = seed, .count = false});
        std::string difference;
        for (const ExecBuffer& buffer : request.buffers)
            if (difference.empty()) difference = first_difference(buffer.name, on.read(buffer), result.buffers);
        if (other.outcome != Outcome::correct)
            difference = fmt::format("{} {}", name(other.outcome),
                                     other.reports.empty() ? other.log : other.reports.front().message);
        if (difference.empty()) continue;
        if (result.orders.different++ == 0) result.orders.first = fmt::format("seed {}: {}", seed, difference);
        if (other.outcome == Outcome::correct || result.outcome != "completed") continue;
        result.outcome = name(other.outcome);
        result.execution.reports = std::move(other.reports);
        result.log += other.log;
    }
}

BuildRequest build_request(const ExecRequest& exec, const DeviceInfo& device) {
    BuildRequest request{.source = exec.source,
                         .file = shown(std::filesystem::path(exec.file).filename()),
                         .target = exec.device.target,
                         .defines = exec.defines,
                         .candidate = false};
    request.language = exec.file.ends_with(".ptx") ? BuildRequest::Language::ptx : BuildRequest::Language::cuda;
    if (request.target.empty()) request.target = device.target;
    request.cubin = device.kind == DeviceKind::cuda;
    return request;
}

const Entry& kernel_of(const Binary& binary, const PlannedLaunch& planned, const DeviceLimits& limits) {
    const Entry* entry = find_kernel(binary, planned.kernel);
    if (entry == nullptr) {
        std::vector<std::string> known;
        for (const Entry& other : binary.entries) known.push_back(other.name);
        throw LaunchRefused("{} has no kernel {}{}; it has {}", binary.file, planned.kernel,
                            did_you_mean(planned.kernel, known), known.empty() ? "none" : joined(known, ", "));
    }
    check_entry(planned, *entry, limits);
    return *entry;
}

Launch launch_of(const PlannedLaunch& planned, const Entry& entry, ModuleId module, const DeviceBuffers& on) {
    Launch launch{.module = module,
                  .entry = entry.name,
                  .grid = planned.grid,
                  .block = planned.block,
                  .cluster = planned.cluster};
    launch.shared_bytes = planned.shared_bytes;
    launch.cooperative = planned.cooperative;
    launch.programmatic = planned.programmatic;
    for (const PlannedArgument& argument : planned.arguments) launch.arguments.push_back(on_device(argument, on));
    return launch;
}

}  // namespace

ExecResult run_exec(const ExecRequest& request) {
    const PlannedLaunch planned = parse_exec_launch(request.launch, request.buffers, request.defines);
    const std::unique_ptr<Device> device = make_device(request.device);
    const bool is_virtual = device->info().kind == DeviceKind::vgpu;
    const DeviceLimits limits = limits_of(device->info());
    check_dimensions(planned, limits);
    const BuildRequest to_build = build_request(request, device->info());
    const BuildResult built = make_builder({.workers = 1})->build(to_build);
    if (built.outcome != Outcome::correct) return {.outcome = "build_failed", .log = built.log};
    const Binary& binary = built.binaries.front();
    ModuleId module = 0;
    try {
        module = device->load(binary);
    } catch (const Error& error) {
        return {.outcome = "build_failed", .log = error.what()};
    }
    const Entry& entry = kernel_of(binary, planned, limits);
    DeviceBuffers on(*device, request.buffers);
    const Launch launch = launch_of(planned, entry, module, on);
    ExecResult result;
    result.execution = device->run({&launch, 1}, {.deadline_s = request.deadline_s, .schedule = request.device.seed});
    const Outcome outcome = result.execution.outcome;
    result.outcome = outcome == Outcome::correct ? "completed" : std::string(name(outcome));
    result.log = result.execution.log;
    // After a fault a GPU's memory is gone; the virtual GPU still shows what was written until then.
    if (outcome == Outcome::correct || is_virtual)
        for (const ExecBuffer& buffer : request.buffers) result.buffers.emplace(buffer.name, on.read(buffer));
    result.orders.exact = ptx_facts(binary.ptx, binary.file).find(FactKind::float_atomic) == nullptr;
    if (outcome == Outcome::correct && is_virtual) run_other_orders(result, request, launch, on, *device);
    if (!result.execution.counters) return result;
    const DeviceInfo gpu = request.gpu.empty() ? device->info() : gpu_named(request.gpu);
    const Resources used = request.wants_resources ? resources_of(to_build, entry.name) : entry.resources;
    const auto threads = static_cast<uint32_t>(planned.block.volume());
    result.profile =
        profile_of(result.execution.counters,
                   {shape_of(planned.kernel, planned.grid.volume(), threads, planned.shared_bytes, used, gpu)}, gpu);
    return result;
}

}  // namespace recuda
