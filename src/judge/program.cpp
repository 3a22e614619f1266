#include "judge/program.h"

#include <algorithm>
#include <atomic>
#include <cassert>

namespace recuda {
namespace {

const Place& place_of(const Places& places, const std::string& name) {
    const auto found = places.find(name);
    if (found == places.end()) throw Error("no buffer was made for {}", name);
    return found->second;
}

Argument argument_of(const PlannedArgument& planned, const Places& places) {
    Argument argument;
    switch (planned.kind) {
        case PlannedArgument::Kind::value:
            argument.value = planned.value;
            break;
        case PlannedArgument::Kind::buffer: {
            const Place& place = place_of(places, planned.name);
            argument.kind = Argument::Kind::buffer;
            argument.buffer = place.buffer;
            argument.offset_bytes = place.offset_bytes;
            break;
        }
        case PlannedArgument::Kind::tensor_map: {
            const Place& place = place_of(places, planned.name);
            argument.kind = Argument::Kind::tensor_map;
            argument.tensor_map = std::make_shared<const TensorMap>(
                TensorMap{place.buffer, std::string(name(planned.dtype)), planned.tensor_map.dims,
                          planned.tensor_map.strides_bytes, planned.tensor_map.box, planned.tensor_map.swizzle,
                          planned.tensor_map.element_strides, planned.tensor_map.nan_fill, place.offset_bytes});
            break;
        }
    }
    return argument;
}

}  // namespace

uint64_t LoadedProgram::next_serial() {
    static std::atomic<uint64_t> next = 1;
    return next++;
}

LoadedProgram::LoadedProgram(Device& device, Compilation compilation, std::vector<std::vector<Binary>> built,
                             const DeviceLimits& limits)
    : device_(device), compilation_(std::move(compilation)), built_(std::move(built)) {
    assert(built_.size() == compilation_.requests.size());
    for (Compilation::Use& use : compilation_.uses) fit(use.plan, built_[use.request], limits);
}

LoadedProgram::LoadedProgram(Device& device, Compilation compilation)
    : device_(device), compilation_(std::move(compilation)) {}

LoadedProgram::~LoadedProgram() { forget(); }

size_t LoadedProgram::workload_of(const Axes& axes) const {
    size_t workload = 0;
    while (workload < workloads() && this->axes(workload) != axes) ++workload;
    return workload;
}

std::vector<Launch> LoadedProgram::launches(size_t workload, const Places& places) {
    const Compilation::Use& use = compilation_.uses.at(workload);
    std::vector<Launch> launches;
    for (const PlannedLaunch& planned : use.plan.launches) launches.push_back(launch(use, planned, places));
    return launches;
}

Launch LoadedProgram::last_launch(size_t workload, const Places& places) {
    const Compilation::Use& use = compilation_.uses.at(workload);
    return launch(use, use.plan.launches.back(), places);
}

void LoadedProgram::forget() {
    for (const auto& [key, module] : modules_) {
        try {
            device_.unload(module);
        } catch (const Error&) {
            // A device that is gone has nothing loaded.
        }
    }
    modules_.clear();
}

Launch LoadedProgram::launch(const Compilation::Use& use, const PlannedLaunch& planned, const Places& places) {
    Launch launch{.module = module(use.request, planned.unit),
                  .entry = planned.kernel,
                  .grid = planned.grid,
                  .block = planned.block,
                  .cluster = planned.cluster,
                  .shared_bytes = planned.shared_bytes,
                  .cooperative = planned.cooperative,
                  .programmatic = planned.programmatic};
    for (const PlannedArgument& argument : planned.arguments) launch.arguments.push_back(argument_of(argument, places));
    return launch;
}

ModuleId LoadedProgram::module(size_t request, uint32_t unit) {
    const auto found = modules_.find({request, unit});
    if (found != modules_.end()) return found->second;
    return modules_[{request, unit}] = device_.load(built_[request].at(unit));
}

}  // namespace recuda
