#include "judge/inputs.h"

#include <algorithm>
#include <cstring>

#include "base/rng.h"
#include "task/op.h"
#include "tensor/fill.h"

namespace recuda {
namespace {

bool is_changed(const Task& task, const TensorSpec& tensor, Battery battery) {
    if (!tensor.battery || battery == Battery::normal) return false;
    return !is_weight(task, tensor) || battery == Battery::ties || battery == Battery::negative ||
           battery == Battery::special;
}

/// The dense rows laid out at their stride, with NaN between them (zeros in types without one).
Tensor spread(const Tensor& dense, int64_t stride, int64_t elements) {
    const int64_t width = dense.shape.back();
    Tensor buffer(dense.dtype, {elements});
    if (stride == width) {
        buffer.bytes = dense.bytes;
        return buffer;
    }
    // All bits set are a NaN in every floating type.
    if (is_floating(dense.dtype)) std::fill(buffer.bytes.begin(), buffer.bytes.end(), std::byte{0xff});
    const size_t element = size_bytes(dense.dtype), row_bytes = static_cast<size_t>(width) * element;
    for (int64_t row = 0; row * width < dense.size(); ++row)
        std::memcpy(buffer.bytes.data() + static_cast<size_t>(row * stride) * element,
                    dense.bytes.data() + static_cast<size_t>(row) * row_bytes, row_bytes);
    return buffer;
}

/// A tensor that varies and that the battery may change.
bool is_data(const Task& task, const TensorSpec& tensor) {
    return tensor.battery && is_floating(tensor.dtype) && !is_weight(task, tensor);
}

/// An op that is not specified for NaN compares its inputs; others add their squares.
InputRules rules_of(const Task& task, const TensorSpec& tensor) {
    InputRules rules{.summable = task.op->special_inputs,
                     .nan = task.op->special_inputs,
                     .infinity = task.op->infinite_inputs,
                     .weight = is_weight(task, tensor),
                     .turns = 0};
    for (const TensorSpec& other : task.op->inputs) {
        if (&other == &tensor) rules.turn = rules.turns;
        if (is_data(task, other)) ++rules.turns;
    }
    if (rules.turns == 0) rules.turns = 1;
    return rules;
}

}  // namespace

bool is_weight(const Task& task, const TensorSpec& tensor) {
    return std::all_of(tensor.shape.begin(), tensor.shape.end(), [&](const Expression& extent) {
        return std::all_of(extent.uses().begin(), extent.uses().end(),
                           [&](const Expression::Use& use) { return task.axes.contains(use.name); });
    });
}

InputContents make_inputs(const Task& task, const Axes& axes, Battery battery, uint64_t seed, int64_t part) {
    // Workloads and kinds have data of their own: a kernel that keeps an answer from an earlier run must not meet its
    // input again.
    const uint64_t own_seed = Rng(seed, shown(axes) + "/" + std::string(name(battery))).next();
    InputContents contents;
    for (const TensorSpec& tensor : task.op->inputs) {
        const bool changed = is_changed(task, tensor, battery);
        Tensor dense = changed && overwrites(battery) && is_floating(tensor.dtype)
                           ? Tensor(tensor.dtype, shape_of(tensor, axes))
                           : filled(tensor.fill, tensor.dtype, shape_of(tensor, axes), own_seed, tensor.name);
        if (changed) apply(battery, dense, own_seed, tensor.name, rules_of(task, tensor), part);
        contents.emplace(tensor.name, spread(dense, row_stride(tensor, axes), buffer_elements(tensor, axes)));
    }
    return contents;
}

int64_t parts_of(const Task& task, const Axes& axes, Battery battery) {
    int64_t most = 1;
    for (const TensorSpec& tensor : task.op->inputs) {
        if (!is_data(task, tensor)) continue;
        const Shape shape = shape_of(tensor, axes);
        const int64_t width = shape.empty() ? 1 : shape.back();
        int64_t rows = 1;
        for (size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
        most = std::max(most, parts(battery, rows, width, rules_of(task, tensor)));
    }
    return most;
}

Tensor dense_rows(const TensorSpec& spec, const Axes& axes, const Tensor& buffer) {
    const int64_t stride = row_stride(spec, axes);
    Tensor dense(buffer.dtype, shape_of(spec, axes));
    const int64_t width = dense.shape.back();
    if (stride == width) {
        dense.bytes = buffer.bytes;
        return dense;
    }
    const size_t element = size_bytes(buffer.dtype), row_bytes = static_cast<size_t>(width) * element;
    for (int64_t row = 0; row * width < dense.size(); ++row)
        std::memcpy(dense.bytes.data() + static_cast<size_t>(row) * row_bytes,
                    buffer.bytes.data() + static_cast<size_t>(row * stride) * element, row_bytes);
    return dense;
}

std::vector<double> values_of(const Tensor& tensor) {
    std::vector<double> values(static_cast<size_t>(tensor.size()));
    const auto copy = [&](auto all, auto convert) {
        for (size_t i = 0; i < values.size(); ++i) values[i] = convert(all[i]);
    };
    const auto plainly = [](auto value) { return static_cast<double>(value); };
    switch (tensor.dtype) {
        case DType::f64:
            copy(tensor.as<double>(), plainly);
            break;
        case DType::f32:
            copy(tensor.as<float>(), plainly);
            break;
        case DType::i32:
            copy(tensor.as<int32_t>(), plainly);
            break;
        case DType::bf16:
            copy(tensor.as<uint16_t>(), [](uint16_t bits) { return bf16_to_double(bits); });
            break;
        default:
            for (size_t i = 0; i < values.size(); ++i) values[i] = tensor.at(static_cast<int64_t>(i));
    }
    return values;
}

}  // namespace recuda
