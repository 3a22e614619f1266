#include "task/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "task/op.h"

namespace recuda {
namespace {

Json tensor_json(const TensorSpec& tensor) {
    Json shape = Json::array();
    for (const Expression& extent : tensor.shape) shape.push_back(extent.text());
    Json json{{"name", tensor.name}, {"dtype", name(tensor.dtype)}, {"shape", shape}};
    if (tensor.inout) json["inout"] = true;
    if (tensor.row_stride) json["row_stride"] = tensor.row_stride->text();
    return json;
}

Json scalar_json(const ScalarSpec& scalar) {
    return {{"name", scalar.name}, {"dtype", name(scalar.dtype)}, {"shape", Json::array()}, {"scalar", true}};
}

Json workload_json(const Task& task, const Axes& axes) {
    return {{"axes", axes}, {"bytes", bytes_of(task, axes)}, {"flops", flops_of(task, axes)}};
}

}  // namespace

std::vector<Axes> Task::left_out_as_small() const {
    std::vector<Axes> left_out;
    if (small.empty()) return left_out;
    for (const Axes& axes : verify)
        if (std::find(small.begin(), small.end(), axes) == small.end()) left_out.push_back(axes);
    return left_out;
}

std::string shown(const Axes& axes) {
    std::vector<std::string> parts;
    for (const auto& [name, value] : axes) parts.push_back(fmt::format("{}={}", name, value));
    std::stable_partition(parts.begin(), parts.end(), [](const std::string& part) { return part.starts_with("T="); });
    return joined(parts, ", ");
}

Shape shape_of(const TensorSpec& tensor, const Axes& axes) {
    Shape shape;
    for (const Expression& extent : tensor.shape) shape.push_back(extent.evaluate(axes));
    return shape;
}

int64_t row_stride(const TensorSpec& tensor, const Axes& axes) {
    const int64_t width = tensor.shape.back().evaluate(axes);
    if (!tensor.row_stride) return width;
    const int64_t stride = tensor.row_stride->evaluate(axes);
    if (stride < width) throw Error("{} has rows of {} elements that lie {} apart", tensor.name, width, stride);
    return stride;
}

int64_t buffer_elements(const TensorSpec& tensor, const Axes& axes) {
    const Shape shape = shape_of(tensor, axes);
    return shape.back() == 0 ? 0 : volume(shape) / shape.back() * row_stride(tensor, axes);
}

int64_t bytes_of(const Task& task, const Axes& axes) {
    const Op& op = *task.op;
    if (op.bytes) return op.bytes->evaluate(axes);
    int64_t bytes = 0;
    for (const TensorSpec* tensor : op.tensors())
        bytes += volume(shape_of(*tensor, axes)) * size_bytes(tensor->dtype) * (tensor->inout ? 2 : 1);
    return bytes;
}

int64_t flops_of(const Task& task, const Axes& axes) { return task.op->flops ? task.op->flops->evaluate(axes) : 0; }

Axes axes_from_text(const Task& task, const std::string& text) {
    Axes axes = task.axes;
    for (const std::string_view part : split(text, ',')) {
        const size_t equals = part.find('=');
        const std::string name(trimmed(part.substr(0, equals)));
        const std::string_view digits = equals == std::string_view::npos ? "" : trimmed(part.substr(equals + 1));
        int64_t value = 0;
        const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (digits.empty() || problem != std::errc() || end != digits.data() + digits.size())
            throw UsageError("--axes takes NAME=NUMBER[,…], not `{}`", text);
        if (value < 1 || value > kLargestAxis)
            throw UsageError("--axes: {} must be from 1 to {}, not {}", name, kLargestAxis, digits);
        if (!task.op->has_axis(name)) {
            std::vector<std::string> known;
            for (const Axis& axis : task.op->axes) known.push_back(axis.name);
            throw UsageError("{} has no axis {}; it has {}", task.name, name, joined(known, ", "));
        }
        axes[name] = value;
    }
    for (const Axis& axis : task.op->axes)
        if (!axes.contains(axis.name))
            throw UsageError("--axes must give {} ({}) of {}", axis.name, axis.about, task.name);
    return axes;
}

Json to_json(const Task& task, bool whole) {
    const Op& op = *task.op;
    Json scalars = Json::object();
    for (const auto& [name, value] : task.scalars) scalars[name] = json_number(value);
    Json json{{"name", task.name},     {"family", task.family}, {"op", op.name},
              {"summary", op.summary}, {"axes", task.axes},     {"scalars", scalars}};
    if (!whole) return json;
    json["model"] = task.model;
    json["source"] = op.source;
    json["exact"] = op.exact;
    json["options"] = task.options;
    json["inputs"] = Json::array();
    json["outputs"] = Json::array();
    for (const TensorSpec& tensor : op.inputs) {
        json["inputs"].push_back(tensor_json(tensor));
        if (tensor.inout) json["outputs"].push_back(tensor_json(tensor));
    }
    for (const ScalarSpec& scalar : op.scalars) json["inputs"].push_back(scalar_json(scalar));
    for (const TensorSpec& tensor : op.outputs) json["outputs"].push_back(tensor_json(tensor));
    json["workloads"] = Json::array();
    std::vector<Axes> all = task.verify;
    for (const Axes& axes : task.bench)
        if (std::find(all.begin(), all.end(), axes) == all.end()) all.push_back(axes);
    for (const Axes& axes : all) json["workloads"].push_back(workload_json(task, axes));
    const auto list = [](const std::vector<Axes>& workloads) {
        Json array = Json::array();
        for (const Axes& axes : workloads) array.push_back(axes);
        return array;
    };
    json["verify"] = list(task.verify);
    json["bench"] = list(task.bench);
    json["small"] = list(task.small);
    return json;
}

}  // namespace recuda
