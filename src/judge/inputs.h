// The contents of a workload's input buffers: the op's fills under one seed, changed by one kind of the battery.
//
// A tensor is data when its shape has an axis that varies over the task's workloads, else it is a weight. Data takes
// every kind of the battery; weights take `ties`, `negative` (the scores of a router are negative only where its bias
// is) and `special` alone and keep their own fill otherwise: a row that is zero, constant or large shows most beside
// ordinary weights. Tables that the op marks `battery = false` never change.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "task/task.h"
#include "tensor/battery.h"
#include "tensor/tensor.h"

namespace recuda {

/// Whole buffers by the tensors' names, shape {elements}: what lies between the rows of a strided tensor is there too,
/// as NaN where the type has one.
using InputContents = std::map<std::string, Tensor, std::less<>>;

/// Whether no extent of the tensor varies over the task's workloads.
bool is_weight(const Task& task, const TensorSpec& tensor);

/// `part` tells cases of a kind apart that go on from each other (`has_parts`).
InputContents make_inputs(const Task& task, const Axes& axes, Battery battery, uint64_t seed, int64_t part = 0);

/// How many parts of a kind a workload needs.
int64_t parts_of(const Task& task, const Axes& axes, Battery battery);

/// The rows of a buffer without what lies between them; shape as the tensor has it.
Tensor dense_rows(const TensorSpec& spec, const Axes& axes, const Tensor& buffer);

/// Elements as doubles.
std::vector<double> values_of(const Tensor& tensor);

}  // namespace recuda
