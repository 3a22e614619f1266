// The macros that CUDA C++ of a task is compiled with: constant axes, tunables, options, and a storage type a tensor.
#pragma once

#include <map>
#include <string>

#include "kernel/kernel_file.h"

namespace recuda {

struct Task;

enum class OutputTypes {
    stored,  // as the op declares them
    exact,   // floating outputs are double: the reference's exact build
};

/// Every axis but those that vary over the task's workloads is constant; `axes` gives the values of this workload.
/// Axes that vary are arguments and have no macro: T, by the contract.
std::map<std::string, std::string> macros(const KernelFile& file, const Point& point, const Task& task,
                                          const Variables& axes, OutputTypes outputs = OutputTypes::stored);

/// The CUDA C++ type of elements: "__nv_bfloat16", "float" …
std::string cuda_type(DType type);

}  // namespace recuda
