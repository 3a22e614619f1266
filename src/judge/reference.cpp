#include "judge/reference.h"

#include <algorithm>

#include "base/file.h"
#include "build/builder.h"
#include "device/limits.h"
#include "judge/build.h"
#include "judge/inputs.h"
#include "task/op.h"

namespace recuda {
namespace {

/// What the reference calls the written side of a tensor.
std::string written_name(const TensorSpec& tensor) { return tensor.inout ? tensor.name + "_out" : tensor.name; }

DType exact_type(const TensorSpec& tensor) { return is_floating(tensor.dtype) ? DType::f64 : tensor.dtype; }

uint64_t bytes_of(const TensorSpec& spec, DType dtype, const Axes& axes) {
    return static_cast<uint64_t>(buffer_elements(spec, axes)) * size_bytes(dtype);
}

}  // namespace

ExtraBuffers reference_buffers(const Op& op, OutputTypes outputs) {
    ExtraBuffers extra;
    for (const TensorSpec* tensor : written_tensors(op))
        extra[written_name(*tensor)] = outputs == OutputTypes::exact ? exact_type(*tensor) : tensor->dtype;
    for (const TensorSpec& tensor : op.auxiliaries) extra[tensor.name] = tensor.dtype;
    return extra;
}

Candidate candidate_from(const std::filesystem::path& path, std::span<const Axes> workloads,
                         const DeviceLimits& limits) {
    auto file = std::make_shared<const KernelFile>(read_kernel_file(path));
    const std::vector<Variables> variables(workloads.begin(), workloads.end());
    std::optional<Point> point = first_legal_point(*file, variables, limits);
    if (!point)
        throw Error("{} has no legal point for {}", shown(path), workloads.empty() ? "" : shown(workloads.front()));
    return make_candidate(std::move(file), std::move(*point), Origin::seed, path.filename().string());
}

Reference::Reference(const Task& task, Device& device, Builder& builder, std::string target)
    : task_(task), device_(device), builder_(builder), target_(std::move(target)) {}

Reference::~Reference() = default;

struct Reference::OtherRounding {
    OtherRounding(Task other, Device& device, Builder& builder, const std::string& target)
        : task(std::move(other)), reference(task, device, builder, target) {}

    Task task;
    Reference reference;
};

std::vector<Outputs> Reference::other_roundings(const Axes& axes, const Places& inputs) {
    const OptionSpec* rounding = task_.op->option("rounding");
    if (rounding == nullptr) return {};
    if (others_.empty()) {
        for (const std::string& value : rounding->values) {
            if (value == task_.options.at("rounding")) continue;
            Task other = task_;
            other.options["rounding"] = value;
            others_.push_back(std::make_unique<OtherRounding>(std::move(other), device_, builder_, target_));
            std::vector<Axes> known;
            for (const auto& program : programs_)
                for (size_t i = 0; i < program->workloads(); ++i) known.push_back(program->axes(i));
            others_.back()->reference.prepare(known);
        }
    }
    std::vector<Outputs> all;
    for (const auto& other : others_) all.push_back(other->reference.answer(axes, inputs));
    return all;
}

void Reference::prepare(const std::vector<Axes>& workloads) {
    std::vector<Axes> missing;
    for (const Axes& axes : workloads) {
        const bool known = std::any_of(programs_.begin(), programs_.end(), [&](const auto& program) {
            for (size_t i = 0; i < program->workloads(); ++i)
                if (program->axes(i) == axes) return true;
            return false;
        });
        if (!known) missing.push_back(axes);
    }
    if (missing.empty()) return;
    const DeviceLimits limits = limits_of(device_.info());
    const Candidate candidate = candidate_from(task_.op->folder / "reference.cu", missing, limits);
    CompileOptions options{.target = target_,
                           .outputs = OutputTypes::exact,
                           .extra = reference_buffers(*task_.op, OutputTypes::exact),
                           .candidate = false};
    options.cubin = device_.info().kind == DeviceKind::cuda;
    std::vector<Order> orders;
    orders.push_back({recuda::compile(candidate, task_, missing, limits, options), ""});
    Built built = std::move(build_all(builder_, std::move(orders)).front());
    if (built.outcome != Outcome::correct)
        throw Error("the reference of op {} does not build: {}", task_.op->name, built.log);
    programs_.push_back(
        std::make_unique<LoadedProgram>(device_, std::move(built.compilation), std::move(built.binaries), limits));
}

Reference::Found Reference::find(const Axes& axes) {
    prepare({axes});
    for (const auto& program : programs_)
        for (size_t i = 0; i < program->workloads(); ++i)
            if (program->axes(i) == axes) return {program.get(), i};
    throw Error("the reference of op {} was not built for {}", task_.op->name, shown(axes));
}

Buffers Reference::output_buffers(const Axes& axes) const {
    Buffers buffers(device_);
    for (const TensorSpec* tensor : written_tensors(*task_.op))
        buffers.add(written_name(*tensor), bytes_of(*tensor, exact_type(*tensor), axes));
    for (const TensorSpec& tensor : task_.op->auxiliaries)
        buffers.add(tensor.name, bytes_of(tensor, tensor.dtype, axes));
    return buffers;
}

Tensor Reference::read(const TensorSpec& spec, DType dtype, const Axes& axes, BufferId buffer) {
    Tensor whole(dtype, {buffer_elements(spec, axes)});
    device_.read(buffer, 0, whole.bytes);
    return dense_rows(spec, axes, whole);
}

void Reference::run(std::span<const Launch> launches, const Axes& axes) {
    const Execution execution = device_.run(launches, {.deadline_s = 120, .checks = false, .count = false});
    if (execution.outcome == Outcome::correct) return;
    const std::string why = execution.reports.empty() ? execution.log : execution.reports.front().message;
    throw Error("the reference of op {} does not run at {}: {} ({})", task_.op->name, shown(axes),
                name(execution.outcome), why);
}

Outputs Reference::answer(const Axes& axes, const Places& inputs) {
    const Found found = find(axes);
    const Buffers buffers = output_buffers(axes);
    run(found.program->launches(found.workload, merged(buffers.places(), inputs)), axes);
    Outputs answers;
    for (const TensorSpec* tensor : written_tensors(*task_.op))
        answers.emplace(tensor->name, read(*tensor, exact_type(*tensor), axes, buffers.at(written_name(*tensor))));
    for (const TensorSpec& tensor : task_.op->auxiliaries)
        answers.emplace(tensor.name, read(tensor, tensor.dtype, axes, buffers.at(tensor.name)));
    return answers;
}

Tensor Reference::answer_given(const Axes& axes, const Places& inputs, const TensorSpec& output, const Tensor& given) {
    const Found found = find(axes);
    const Buffers buffers = output_buffers(axes);
    device_.write(buffers.at(output.given), 0, given.bytes);
    const Launch last = found.program->last_launch(found.workload, merged(buffers.places(), inputs));
    run(std::span(&last, 1), axes);
    return read(output, exact_type(output), axes, buffers.at(output.name));
}

void Reference::forget() {
    for (const auto& program : programs_) program->forget();
    for (const auto& other : others_) other->reference.forget();
}

}  // namespace recuda
