// Which workloads a candidate is verified on, and with which inputs each.
//
// A workload with few tokens gets the whole battery: faults of logic show there, and it costs little. One with many tokens
// is run for what many tokens alone can show (a wrong last row, an index that overflows) with the inputs `normal`.
#pragma once

#include <vector>

#include "device/device.h"
#include "judge/evaluator.h"
#include "task/task.h"
#include "tensor/fill.h"

namespace recuda {

struct Workload {
    Axes axes;
    std::vector<Battery> inputs;  // `normal` first
};

/// Tokens up to which a workload belongs to the screening and gets the whole battery.
inline constexpr int64_t kScreenedTokens = 8;

/// `given` means exactly these; else the task's own (on the virtual GPU its small ones, where it has them) and one with an
/// awkward number of tokens that no task lists. A screening takes those with few tokens, or the one with fewest where all have many.
std::vector<Workload> verified_workloads(const Task& task, DeviceKind device, const std::vector<Axes>& given, Depth depth);

/// The workloads that an estimate is made of: those of the screening that are also benchmarked, else all of the screening.
std::vector<Axes> estimated_workloads(const Task& task, DeviceKind device, const std::vector<Axes>& given);

}  // namespace recuda
