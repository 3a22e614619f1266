// The macros that CUDA C++ of a task is compiled with: constant axes, tunables, options, and a storage type a tensor.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kernel/kernel_file.h"

namespace recuda {

struct Op;
struct Task;

enum class OutputTypes {
    stored,  // as the op declares them
    exact,   // floating outputs are double: the reference's exact build
};

/// Every axis but those that vary over the task's workloads is constant; `axes` gives the values of this workload.
/// Axes that vary are arguments and have no macro: T, by the contract.
std::map<std::string, std::string> macros(const KernelFile& file, const Point& point, const Task& task,
                                          const Variables& axes, OutputTypes outputs = OutputTypes::stored);

/// The options of a task as numbers: for `rounding` with values one and two, ROUNDING_ONE and ROUNDING_TWO, each 0
/// or 1. They are macros of CUDA C++ and names in the expressions of launches (how a Triton kernel learns them).
Variables option_values(const Task& task);

/// The names in `option_values` of every task of an op.
std::vector<std::string> option_names(const Op& op);

/// The CUDA C++ type of elements: "__nv_bfloat16", "float" …
std::string cuda_type(DType type);

}  // namespace recuda
