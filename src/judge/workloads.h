// Which workloads a candidate is verified on, and with which inputs each.
//
// A workload with few tokens gets the whole battery: faults of logic show there, and it costs little. One with many is
// run with the inputs `normal`, with rows of every kind (`crowd`), and with a few kinds that the seed chooses.
#pragma once

#include <vector>

#include "device/device.h"
#include "judge/evaluator.h"
#include "task/task.h"
#include "tensor/battery.h"

namespace recuda {

struct Input {
    Battery battery = Battery::normal;
    int64_t part = 0;  // of a kind that has parts
};

struct Workload {
    Axes axes;
    std::vector<Input> inputs;  // `normal` first
};

/// Tokens up to which a workload belongs to the screening and gets the whole battery; one that a user asked for gets it
/// up to more.
inline constexpr int64_t kScreenedTokens = 8, kAskedTokens = 128;

/// T, 1 where there is none.
int64_t tokens_of(const Axes& axes);

/// `given` means exactly these; else the task's own (on the virtual GPU its small ones, where it has them), one with an
/// awkward number of tokens that no task lists, and for a whole verdict those up to 8 tokens, one with one token more
/// than the most and one that the seed chooses. A screening takes those with few tokens, or the one with fewest where
/// all have many. Throws Error for a task without any: nothing verified is nothing right.
std::vector<Workload> verified_workloads(const Task& task, DeviceKind device, const std::vector<Axes>& given,
                                         Depth depth, uint64_t seed);

/// A workload that an estimate is made of: what was counted at `axes`, times `scale`.
struct EstimatedWorkload {
    Axes axes;
    double scale = 1;
};

/// The benchmarked workloads, each by the counters of a screened one, so that an estimate is the same however far a
/// candidate was judged: itself where it is screened, else the largest with the same constants, scaled by tokens. All
/// screened ones where none can stand for a benchmarked one, and exactly `given` where a user asked for them.
std::vector<EstimatedWorkload> estimated_workloads(const Task& task, DeviceKind device, const std::vector<Axes>& given);

}  // namespace recuda
