#include "judge/compile.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "task/op.h"

namespace recuda {
namespace {

/// Triton's name of an element type.
std::string triton_type(DType type) {
    switch (type) {
        case DType::f16:
            return "fp16";
        case DType::f32:
            return "fp32";
        case DType::f64:
            return "fp64";
        case DType::e4m3:
            return "fp8e4nv";
        case DType::e5m2:
            return "fp8e5";
        default:
            return std::string(name(type));
    }
}

/// Everything that directives may name, at one workload.
Variables launch_variables(const Candidate& candidate, const Task& task, const Axes& axes, const DeviceLimits& limits) {
    Variables variables = axes;
    variables.insert(candidate.point.begin(), candidate.point.end());
    variables.merge(option_values(task));
    variables["SMS"] = limits.sm_count;
    variables["MAX_SHARED"] = limits.max_shared_bytes;
    return variables;
}

/// Whether an expression has the same value for every workload of the task.
bool is_constant(const Expression& expression, const Task& task) {
    return std::none_of(expression.uses().begin(), expression.uses().end(), [&](const Expression::Use& use) {
        return task.op->has_axis(use.name) && !task.axes.contains(use.name);
    });
}

TritonKernel::Argument triton_argument(const ArgumentDirective& directive, const PlannedArgument& planned,
                                       const Task& task) {
    if (planned.kind == PlannedArgument::Kind::tensor_map)
        throw LaunchRefused("{}: a Triton kernel takes no tensormap", planned.name);
    // The judge's buffers and scratch begin at multiples of 256 bytes, and so will a runtime's that uses the kernel.
    if (planned.kind == PlannedArgument::Kind::buffer)
        return {.type = "*" + triton_type(planned.dtype), .divisible_by_16 = true};
    TritonKernel::Argument argument{.type = triton_type(planned.dtype)};
    if (planned.dtype == DType::i32 && is_constant(directive.value.expression, task)) {
        int32_t value = 0;
        std::memcpy(&value, planned.value.data(), sizeof value);
        argument.divisible_by_16 = value % 16 == 0;
    }
    return argument;
}

TritonKernel triton_kernel(const LaunchDirective& launch, const PlannedLaunch& planned, const Task& task,
                           const Variables& variables) {
    TritonKernel kernel{.function = launch.kernel};
    for (size_t i = 0; i < launch.arguments.size(); ++i)
        kernel.arguments.push_back(triton_argument(launch.arguments[i], planned.arguments[i], task));
    const auto number = [&](const NamedExpression& named) {
        try {
            return named.value.expression.evaluate(variables);
        } catch (const ExpressionError& error) {
            throw LaunchRefused("{}: {}: {}", launch.kernel, named.name, error.what());
        }
    };
    for (const NamedExpression& constant : launch.constants)
        kernel.arguments.push_back(
            {.name = constant.name, .type = "constexpr", .constant = fmt::format("{}", number(constant))});
    for (const NamedExpression& option : launch.options) {
        const int64_t value = number(option);
        if (value < 1 || value > 64)
            throw LaunchRefused("{}: {} = {} is out of range", launch.kernel, option.name, value);
        if (option.name == "num_warps")
            kernel.num_warps = static_cast<int>(value);
        else if (option.name == "num_stages")
            kernel.num_stages = static_cast<int>(value);
        else if (option.name == "num_ctas")
            kernel.num_ctas = static_cast<int>(value);
        else
            throw LaunchRefused("{}: there is no option {}", launch.kernel, option.name);
    }
    return kernel;
}

BuildRequest request_of(const Candidate& candidate, const Task& task, const Axes& axes, const LaunchPlan& planned,
                        const DeviceLimits& limits, const CompileOptions& options) {
    const KernelFile& file = *candidate.file;
    BuildRequest request{.source = file.text, .file = file.name, .target = options.target, .uses = file.uses};
    request.candidate = options.candidate;
    request.cubin = options.cubin;
    if (file.language == Language::cuda) {
        request.defines = macros(file, candidate.point, task, axes, options.outputs);
        return request;
    }
    request.language = BuildRequest::Language::triton;
    const Variables variables = launch_variables(candidate, task, axes, limits);
    for (size_t i = 0; i < file.launches.size(); ++i)
        request.kernels.push_back(triton_kernel(file.launches[i], planned.launches[i], task, variables));
    return request;
}

void check_requirements(const Candidate& candidate, const Axes& axes, const DeviceLimits& limits) {
    if (is_legal(*candidate.file, candidate.point, axes, limits)) return;
    std::vector<std::string> point;
    for (const auto& [name, value] : candidate.point) point.push_back(fmt::format("{}={}", name, value));
    throw LaunchRefused("{}: `require` forbids {}{}{}", candidate.file->name, shown(axes),
                        point.empty() ? "" : " with ", joined(point, ", "));
}

}  // namespace

Compilation compile(const Candidate& candidate, const Task& task, std::span<const Axes> workloads,
                    const DeviceLimits& limits, const CompileOptions& options) {
    Compilation compilation;
    for (const Axes& axes : workloads) {
        check_requirements(candidate, axes, limits);
        LaunchPlan planned = plan(*candidate.file, candidate.point, task, axes, limits, options.extra);
        BuildRequest request = request_of(candidate, task, axes, planned, limits, options);
        const auto same =
            std::find_if(compilation.requests.begin(), compilation.requests.end(), [&](const BuildRequest& other) {
                return other.defines == request.defines && other.kernels == request.kernels;
            });
        compilation.uses.push_back(
            {axes, std::move(planned), static_cast<size_t>(same - compilation.requests.begin())});
        if (same == compilation.requests.end()) compilation.requests.push_back(std::move(request));
    }
    return compilation;
}

}  // namespace recuda
