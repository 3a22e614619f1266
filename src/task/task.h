// A task is an op with its constants bound for one model; a workload binds every axis.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/expression.h"
#include "tensor/tensor.h"

namespace recuda {

struct Op;
struct TensorSpec;

/// Values of all axes, by name.
using Axes = std::map<std::string, int64_t, std::less<>>;

/// Kernels take axes as 32-bit int.
inline constexpr int64_t kLargestAxis = 0x7fffffff;

struct Task {
    std::string name;  // "nano30b_rmsnorm"; "path/to/file.toml#name" for a user's own
    std::string family, model;
    std::shared_ptr<const Op> op;
    Axes axes;  // the constant ones
    std::map<std::string, double> scalars;
    std::map<std::string, std::string> options;  // every option of the op, defaults filled in
    std::vector<Axes> verify, bench;             // all axes bound
    std::vector<Axes> small;                     // what the virtual GPU runs instead of `verify`; empty: the same

    /// What stays out on the virtual GPU because of its size: those of `verify` that `small` does not have; for the
    /// report.
    std::vector<Axes> left_out_as_small() const;
};

/// "T=8, H=2688" with the axes that vary first.
std::string shown(const Axes& axes);

/// The shape of a tensor at these axes, and the elements its buffer holds (more than the volume when it is strided).
Shape shape_of(const TensorSpec& tensor, const Axes& axes);
int64_t buffer_elements(const TensorSpec& tensor, const Axes& axes);
/// Distance of rows in elements: the last extent for a dense tensor.
int64_t row_stride(const TensorSpec& tensor, const Axes& axes);

/// Least traffic and arithmetic of one run, by the op's formulas.
int64_t bytes_of(const Task& task, const Axes& axes);
int64_t flops_of(const Task& task, const Axes& axes);

/// Axes given by a user ("T=8,H=256"), checked against the op and completed with the task's constants. Throws
/// UsageError.
Axes axes_from_text(const Task& task, const std::string& text);

/// The contract's object for `tasks`; `whole` adds inputs, outputs, options and workloads.
nlohmann::json to_json(const Task& task, bool whole);

}  // namespace recuda
