#include "kernel/launch_plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "kernel/macros.h"
#include "task/op.h"
#include "task/task.h"

namespace recuda {
namespace {

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability": the same from sm_80 on.
constexpr Dim3 kMaxGrid{0x7fffffff, 65535, 65535}, kMaxBlock{1024, 1024, 64};

/// Evaluates one file's directives for one workload.
class Planner {
 public:
    Planner(const KernelFile& file, const Point& point, const Task& task, const Variables& axes,
            const DeviceLimits& limits, const ExtraBuffers& extra)
        : file_(file), task_(task), variables_(axes), extra_(extra) {
        variables_.insert(point.begin(), point.end());
        variables_.merge(option_values(task));
        variables_["SMS"] = limits.sm_count;
        variables_["MAX_SHARED"] = limits.max_shared_bytes;
    }

    PlannedScratch scratch(const ScratchDirective& directive) const {
        PlannedScratch planned{.name = directive.name, .dtype = directive.dtype, .zeroed = directive.zeroed};
        for (const PlacedExpression& extent : directive.shape)
            planned.shape.push_back(number(extent, "an extent of the scratch " + directive.name, 0, INT64_MAX));
        planned.bytes = size_bytes(directive.dtype);
        for (size_t i = 0; i < planned.shape.size(); ++i)
            if (__builtin_mul_overflow(planned.bytes, static_cast<uint64_t>(planned.shape[i]), &planned.bytes))
                refuse(directive.shape[i], fmt::format("the scratch {} has more than 2^64 bytes", directive.name));
        return planned;
    }

    PlannedLaunch launch(const LaunchDirective& directive, uint32_t index) const {
        PlannedLaunch planned{.kernel = directive.kernel};
        planned.unit = file_.language == Language::triton ? index : 0;
        planned.grid = dimensions(directive.grid, "the grid");
        planned.has_block = !directive.block.empty();
        if (planned.has_block) planned.block = dimensions(directive.block, "the block");
        planned.cluster = dimensions(directive.cluster, "the cluster");
        if (!directive.shared.empty())
            planned.shared_bytes =
                static_cast<uint32_t>(number(directive.shared[0], "the shared memory", 0, UINT32_MAX));
        planned.cooperative = directive.cooperative;
        planned.programmatic = directive.programmatic;
        for (const ArgumentDirective& argument : directive.arguments)
            planned.arguments.push_back(this->argument(argument));
        return planned;
    }

 private:
    [[noreturn]] void refuse(const PlacedExpression& placed, const std::string& what) const {
        throw LaunchRefused("{}:{}:{}: {}", file_.name, placed.position.line, placed.position.column, what);
    }

    int64_t number(const PlacedExpression& placed, const std::string& what, int64_t low, int64_t high) const {
        int64_t value = 0;
        try {
            value = placed.expression.evaluate(variables_);
        } catch (const ExpressionError& error) {
            refuse(placed, fmt::format("{}: {}", what, error.what()));
        }
        if (value < low || value > high)
            refuse(placed, fmt::format("{} is {}, outside of {} to {}", what, value, low, high));
        return value;
    }

    Dim3 dimensions(const std::vector<PlacedExpression>& all, const std::string& what) const {
        const auto one = [&](size_t i) {
            return i < all.size() ? static_cast<uint32_t>(number(all[i], what, 0, UINT32_MAX)) : 1u;
        };
        return {one(0), one(1), one(2)};
    }

    template <typename T>
    std::vector<T> numbers(const std::vector<PlacedExpression>& all, const std::string& what) const {
        std::vector<T> values;
        for (const PlacedExpression& one : all)
            values.push_back(static_cast<T>(number(one, what, 1, int64_t{1} << 40)));
        return values;
    }

    /// The element type of a buffer of that name, if there is one. What the reference is given stands before the op's
    /// own.
    const DType* buffer(std::string_view name) const {
        if (const auto found = extra_.find(name); found != extra_.end()) return &found->second;
        if (const TensorSpec* tensor = task_.op->tensor(name)) return &tensor->dtype;
        if (const ScratchDirective* scratch = file_.scratch(name)) return &scratch->dtype;
        return nullptr;
    }

    PlannedArgument argument(const ArgumentDirective& directive) const {
        if (directive.tensor_map) return tensor_map(*directive.tensor_map);
        const std::string name = directive.name();
        if (const DType* dtype = name.empty() ? nullptr : buffer(name))
            return {.kind = PlannedArgument::Kind::buffer, .name = name, .dtype = *dtype};
        PlannedArgument planned{.kind = PlannedArgument::Kind::value,
                                .name = std::string(trimmed(directive.value.expression.text()))};
        if (const ScalarSpec* scalar = name.empty() ? nullptr : task_.op->scalar(name)) {
            planned.dtype = scalar->dtype;
            planned.value.resize(size_bytes(scalar->dtype));
            store(scalar->dtype, planned.value.data(), task_.scalars.at(name));
            return planned;
        }
        const auto value =
            static_cast<int32_t>(number(directive.value, "the argument " + planned.name, INT32_MIN, INT32_MAX));
        planned.value.resize(sizeof value);
        std::memcpy(planned.value.data(), &value, sizeof value);
        return planned;
    }

    PlannedArgument tensor_map(const TensorMapDirective& directive) const {
        const DType* dtype = buffer(directive.buffer);
        if (dtype == nullptr)
            throw LaunchRefused("{}: tensormap names the unknown buffer {}", file_.name, directive.buffer);
        PlannedArgument planned{.kind = PlannedArgument::Kind::tensor_map, .name = directive.buffer, .dtype = *dtype};
        planned.tensor_map.dims = numbers<uint64_t>(directive.dims, "an extent of tensormap");
        planned.tensor_map.strides_bytes = numbers<uint64_t>(directive.strides, "a stride of tensormap");
        planned.tensor_map.box = numbers<uint32_t>(directive.box, "the box of tensormap");
        planned.tensor_map.swizzle =
            static_cast<uint32_t>(number(directive.swizzle, "the swizzle of tensormap", 0, 128));
        planned.tensor_map.element_strides =
            numbers<uint32_t>(directive.element_strides, "an element stride of tensormap");
        planned.tensor_map.nan_fill = directive.nan_fill;
        return planned;
    }

    const KernelFile& file_;
    const Task& task_;
    Variables variables_;
    const ExtraBuffers& extra_;
};

Json dim_json(const Dim3& dim) { return Json::array({dim.x, dim.y, dim.z}); }

Json value_json(const PlannedArgument& argument) {
    const double value = load(argument.dtype, argument.value.data());
    return is_floating(argument.dtype) ? json_number(value) : Json(static_cast<int64_t>(value));
}

Json argument_json(const PlannedArgument& argument) {
    switch (argument.kind) {
        case PlannedArgument::Kind::buffer:
            return {{"name", argument.name}, {"kind", "buffer"}, {"dtype", name(argument.dtype)}};
        case PlannedArgument::Kind::value:
            return {{"name", argument.name},
                    {"kind", "value"},
                    {"dtype", name(argument.dtype)},
                    {"value", value_json(argument)}};
        case PlannedArgument::Kind::tensor_map:
            return {{"name", argument.name},
                    {"kind", "tensormap"},
                    {"dtype", name(argument.dtype)},
                    {"dims", argument.tensor_map.dims},
                    {"strides_bytes", argument.tensor_map.strides_bytes},
                    {"box", argument.tensor_map.box},
                    {"swizzle", argument.tensor_map.swizzle},
                    {"element_strides", argument.tensor_map.element_strides},
                    {"oob", argument.tensor_map.nan_fill ? "nan" : "zeros"}};
    }
    return nullptr;
}

std::string shown(const Dim3& dim) { return fmt::format("({}, {}, {})", dim.x, dim.y, dim.z); }

/// What PTX may declare for an argument: pointers are 64-bit integers, values match in size and in kind (a float is no
/// integer; untyped b32 fits both).
bool fits(const PlannedArgument& argument, const Parameter& parameter) {
    const char letter = parameter.type.empty() ? 'b' : parameter.type[0];
    switch (argument.kind) {
        case PlannedArgument::Kind::buffer:
            return parameter.bytes == 8 && letter != 'f';
        case PlannedArgument::Kind::tensor_map:
            return parameter.bytes == 128;
        case PlannedArgument::Kind::value:
            return parameter.bytes == argument.value.size() &&
                   (letter == 'b' || (letter == 'f') == (is_floating(argument.dtype) && argument.value.size() >= 4));
    }
    return false;
}

void fit_entry(PlannedLaunch& launch, const Entry& entry) {
    if (!launch.has_block) {
        launch.block = entry.required_threads;
        launch.has_block = true;
    }
    if (entry.dynamic_shared_bytes > 0) launch.shared_bytes = entry.dynamic_shared_bytes;
    for (uint32_t i = 0; i < entry.hidden_parameters; ++i)
        launch.arguments.push_back({.kind = PlannedArgument::Kind::value,
                                    .name = "compiler's scratch",
                                    .dtype = DType::u64,
                                    .value = std::vector<std::byte>(8)});
}

/// A launch that may begin before its predecessor has ended must wait for it where it needs what that one wrote, which
/// is why it comes second. That some kernel of its module waits is all that is looked for.
void check_early_launch(const LaunchPlan& plan, const PlannedLaunch& launch, const Binary& binary) {
    const bool early = launch.programmatic && &launch != &plan.launches.front();
    if (early && !binary.ptx.empty() && binary.ptx.find("griddepcontrol.wait") == std::string::npos)
        throw LaunchRefused(
            "{}: a launch with pdl must wait for the one before it (griddepcontrol.wait, "
            "cudaGridDependencySynchronize()), which this kernel never does",
            launch.kernel);
}

}  // namespace

LaunchPlan plan(const KernelFile& file, const Point& point, const Task& task, const Variables& axes,
                const DeviceLimits& limits, const ExtraBuffers& extra) {
    const Planner planner(file, point, task, axes, limits, extra);
    LaunchPlan planned;
    for (const ScratchDirective& scratch : file.scratches) planned.scratch.push_back(planner.scratch(scratch));
    for (const LaunchDirective& launch : file.launches) {
        planned.launches.push_back(planner.launch(launch, static_cast<uint32_t>(planned.launches.size())));
        check_dimensions(planned.launches.back(), limits);
    }
    return planned;
}

void check_dimensions(const PlannedLaunch& launch, const DeviceLimits& limits) {
    const auto within = [&](const Dim3& dim, const Dim3& most, const char* what) {
        if (dim.x == 0 || dim.y == 0 || dim.z == 0)
            throw LaunchRefused("{}: the {} {} is empty", launch.kernel, what, shown(dim));
        if (dim.x > most.x || dim.y > most.y || dim.z > most.z)
            throw LaunchRefused("{}: the {} {} is beyond {}", launch.kernel, what, shown(dim), shown(most));
    };
    within(launch.grid, kMaxGrid, "grid");
    if (launch.has_block) {
        within(launch.block, kMaxBlock, "block");
        if (launch.block.volume() > limits.max_threads_per_block)
            throw LaunchRefused("{}: a block of {} threads is beyond {}", launch.kernel, launch.block.volume(),
                                limits.max_threads_per_block);
    }
    if (launch.shared_bytes > limits.max_shared_bytes)
        throw LaunchRefused("{}: {} bytes of shared memory are beyond {}", launch.kernel, launch.shared_bytes,
                            limits.max_shared_bytes);
    const Dim3& cluster = launch.cluster;
    if (cluster.volume() == 1) return;
    if (!limits.has_clusters) throw LaunchRefused("{}: clusters need sm_90 or newer", launch.kernel);
    within(cluster, launch.grid, "cluster");
    if (cluster.volume() > limits.max_cluster_blocks)
        throw LaunchRefused("{}: a cluster of {} blocks is beyond {}", launch.kernel, cluster.volume(),
                            limits.max_cluster_blocks);
    if (launch.grid.x % cluster.x != 0 || launch.grid.y % cluster.y != 0 || launch.grid.z % cluster.z != 0)
        throw LaunchRefused("{}: the grid {} is no multiple of the cluster {}", launch.kernel, shown(launch.grid),
                            shown(cluster));
}

void check_entry(const PlannedLaunch& launch, const Entry& entry, const DeviceLimits& limits) {
    if (launch.arguments.size() != entry.parameters.size())
        throw LaunchRefused("{} takes {} arguments, the launch gives {}", launch.kernel, entry.parameters.size(),
                            launch.arguments.size());
    for (size_t i = 0; i < entry.parameters.size(); ++i) {
        const PlannedArgument& argument = launch.arguments[i];
        if (!fits(argument, entry.parameters[i]))
            throw LaunchRefused("{}: argument {} ({}, {}) does not fit the kernel's parameter of type {} ({} bytes)",
                                launch.kernel, i + 1, argument.name,
                                argument.kind == PlannedArgument::Kind::buffer       ? "a buffer"
                                : argument.kind == PlannedArgument::Kind::tensor_map ? "a tensor map"
                                                                                     : name(argument.dtype),
                                entry.parameters[i].type, entry.parameters[i].bytes);
    }
    const uint64_t threads = launch.block.volume();
    if (entry.max_threads > 0 && threads > entry.max_threads)
        throw LaunchRefused("{} is built for at most {} threads a block (__launch_bounds__), the launch has {}",
                            launch.kernel, entry.max_threads, threads);
    if (entry.required_threads.x > 0 && !(entry.required_threads == launch.block))
        throw LaunchRefused("{} is built for blocks of {}, the launch has {}", launch.kernel,
                            shown(entry.required_threads), shown(launch.block));
    if (entry.cluster.x > 0 && launch.cluster.volume() > 1 && !(entry.cluster == launch.cluster))
        throw LaunchRefused("{} is built for clusters of {}, the launch has {}", launch.kernel, shown(entry.cluster),
                            shown(launch.cluster));
    const uint64_t shared = uint64_t{launch.shared_bytes} + entry.resources.shared_bytes;
    if (shared > limits.max_shared_bytes)
        throw LaunchRefused("{}: {} bytes of shared memory ({} static) are beyond {}", launch.kernel, shared,
                            entry.resources.shared_bytes, limits.max_shared_bytes);
    if (uint64_t{entry.resources.registers} * threads > limits.registers_per_block)
        throw LaunchRefused("{}: {} registers in {} threads are beyond the {} of a block", launch.kernel,
                            entry.resources.registers, threads, limits.registers_per_block);
}

void fit(LaunchPlan& plan, std::span<const Binary> binaries, const DeviceLimits& limits) {
    for (PlannedLaunch& launch : plan.launches) {
        const Entry* entry = launch.unit < binaries.size() ? binaries[launch.unit].find(launch.kernel) : nullptr;
        if (entry == nullptr) {
            std::vector<std::string> known;
            for (const Binary& binary : binaries)
                for (const Entry& other : binary.entries) known.push_back(other.name);
            throw LaunchRefused("there is no kernel {}{} in what was built; there {} {}{}", launch.kernel,
                                did_you_mean(launch.kernel, known), known.size() == 1 ? "is" : "are",
                                known.empty() ? "none" : joined(known, ", "),
                                known.empty() ? "" : "; is it `extern \"C\" __global__`?");
        }
        fit_entry(launch, *entry);
        check_dimensions(launch, limits);
        check_entry(launch, *entry, limits);
        check_early_launch(plan, launch, binaries[launch.unit]);
    }
}

Json to_json(const LaunchPlan& plan) {
    Json launches = Json::array(), scratches = Json::array();
    for (const PlannedLaunch& launch : plan.launches) {
        Json arguments = Json::array();
        for (const PlannedArgument& argument : launch.arguments) arguments.push_back(argument_json(argument));
        Json json{{"kernel", launch.kernel},
                  {"grid", dim_json(launch.grid)},
                  {"block", launch.has_block ? dim_json(launch.block) : Json()},
                  {"shared_bytes", launch.shared_bytes},
                  {"arguments", arguments}};
        if (launch.cluster.volume() > 1) json["cluster"] = dim_json(launch.cluster);
        if (launch.cooperative) json["cooperative"] = true;
        if (launch.programmatic) json["pdl"] = true;
        launches.push_back(std::move(json));
    }
    for (const PlannedScratch& scratch : plan.scratch)
        scratches.push_back({{"name", scratch.name},
                             {"dtype", name(scratch.dtype)},
                             {"shape", scratch.shape},
                             {"bytes", scratch.bytes},
                             {"zeroed", scratch.zeroed}});
    return {{"launches", launches}, {"scratch", scratches}};
}

}  // namespace recuda
