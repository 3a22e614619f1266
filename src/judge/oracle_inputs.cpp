#include "judge/oracle_inputs.h"

#include <cmath>

#include "task/op.h"

namespace recuda {
namespace {

/// f(column, index in the buffer) of every element of a tensor's rows.
template <typename Visit>
void for_elements(const TensorSpec& spec, const Axes& axes, Visit visit) {
    const Shape shape = shape_of(spec, axes);
    const int64_t width = shape.back(), stride = row_stride(spec, axes), rows = volume(shape) / width;
    for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < width; ++column) visit(column, row * stride + column);
}

/// Every element of every floating input becomes change(element).
std::function<void(const Axes&, InputContents&)> everywhere(const Task& task, double (*change)(double)) {
    return [&task, change](const Axes& axes, InputContents& inputs) {
        for (const TensorSpec& tensor : task.op->inputs) {
            if (!is_floating(tensor.dtype)) continue;
            Tensor& buffer = inputs.at(tensor.name);
            for_elements(tensor, axes, [&](int64_t, int64_t i) {
                const double value = buffer.at(i), other = change(value);
                if (other != value) buffer.set(i, other);
            });
        }
    };
}

double in_half_precision(double value) { return f16_to_double(f16_from_double(value)); }
double flushed(double value) { return std::fabs(value) < 0x1p-126 ? std::copysign(0, value) : value; }

/// A column that no row's sum or comparison sees, while the results of its own place are right.
InputChange without_column(const TensorSpec& tensor, bool last) {
    const auto place = [last](int64_t width) { return last ? width - 1 : 0; };
    InputChange change;
    change.name = fmt::format("{} without its {} column", tensor.name, last ? "last" : "first");
    change.apply = [&tensor, place](const Axes& axes, InputContents& inputs) {
        const int64_t skipped = place(shape_of(tensor, axes).back());
        Tensor& buffer = inputs.at(tensor.name);
        for_elements(tensor, axes, [&](int64_t column, int64_t i) {
            if (column == skipped) buffer.set(i, 0);
        });
    };
    const TensorSpec* input = &tensor;
    change.column = [input, place](const Outputs& right, Outputs& changed) {
        for (auto& [name, output] : changed) {
            const int64_t width = output.shape.back();
            if (output.shape.size() != input->shape.size() || !is_floating(output.dtype)) continue;
            for (int64_t i = place(width); i < output.size(); i += width) output.set(i, right.at(name).at(i));
        }
    };
    return change;
}

void add_weight(const TensorSpec& tensor, std::vector<InputChange>& changes) {
    using Values = std::function<double(const Tensor& before, int64_t width, int64_t column, int64_t index)>;
    const auto add = [&](const char* how, Values value) {
        changes.push_back({fmt::format("{} {}", tensor.name, how),
                           false,
                           [&tensor, value](const Axes& axes, InputContents& inputs) {
                               const int64_t width = shape_of(tensor, axes).back();
                               const Tensor before = inputs.at(tensor.name);
                               Tensor& buffer = inputs.at(tensor.name);
                               for_elements(tensor, axes, [&](int64_t column, int64_t i) {
                                   buffer.set(i, value(before, width, column, i));
                               });
                           },
                           {}});
    };
    add("ignored", [](const Tensor&, int64_t, int64_t, int64_t) { return 1; });
    add("taken twice", [](const Tensor& before, int64_t, int64_t, int64_t i) { return before.at(i) * before.at(i); });
    add("one place on", [](const Tensor& before, int64_t width, int64_t column, int64_t i) {
        return before.at(column + 1 < width ? i + 1 : i - column);
    });
}

}  // namespace

std::vector<InputChange> input_changes(const Task& task) {
    std::vector<InputChange> changes;
    changes.push_back({"inputs read in half precision", false, everywhere(task, in_half_precision), {}});
    changes.push_back({"subnormal inputs flushed", true, everywhere(task, flushed), {}});
    for (const TensorSpec& tensor : task.op->inputs) {
        if (!is_floating(tensor.dtype)) continue;
        if (is_weight(task, tensor)) {
            add_weight(tensor, changes);
        } else {
            changes.push_back(without_column(tensor, false));
            changes.push_back(without_column(tensor, true));
        }
    }
    return changes;
}

std::vector<ScalarChange> scalar_changes(const Task& task) {
    std::vector<ScalarChange> changes;
    for (const auto& [name, value] : task.scalars) {
        if (value != 0) changes.push_back({name + " omitted", name, 0});
        if (value != 1 && value != 0) changes.push_back({name + " taken twice", name, value * value});
        if (value != 0) changes.push_back({name + " half as large", name, value / 2});
    }
    return changes;
}

}  // namespace recuda
