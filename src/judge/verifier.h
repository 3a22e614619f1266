// Whether a program is right: every workload with every input of its battery, on the device, against the reference.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "device/counters.h"
#include "evaluation/evaluation.h"
#include "judge/cases.h"
#include "judge/workloads.h"

namespace recuda {

struct VerifyOptions {
    unsigned schedules = 1;       // vgpu: so many orders of warps and blocks; each must give the same bits
    bool float_atomics = false;   // the program adds floats by atomics: other orders may give other bits, but right
    bool count = true;            // vgpu: counters of the normal inputs
    bool stop_at_failure = true;  // else the other workloads are tried too
    std::stop_token stop;         // asked between runs
    double deadline_s = 0;        // of one run; 0: by the device and the workload
    std::optional<std::chrono::steady_clock::time_point> until{};  // no further input is tried after it
    std::function<void()> forget;  // the device's process is gone, and with it every buffer and module
};

/// Runs in other orders of warps and blocks than the natural one. `seeds` 1, 2 … make the orders.
struct Schedules {
    unsigned run = 1;        // orders of each input, the natural one among them
    unsigned different = 0;  // runs that gave other results, or failed
    uint64_t seed = 0;       // of the first such run, 0: none
    bool bitwise = true;     // whether results were held to the natural one's bits
};

struct Verified {
    Verdict verdict;
    Schedules schedules;
    std::map<Axes, std::shared_ptr<const Counters>> counters;  // of the workloads' normal inputs
    bool stopped = false;                                      // before it was done: the verdict means nothing
    bool complete = true;                                      // false: `until` came before every input was tried
};

/// `program` was built for these workloads first, in their order. Throws Error where our own parts fail and for no
/// workloads at all.
Verified verify(LoadedProgram& program, const std::vector<Workload>& workloads, const Task& task, Device& device,
                Cases& cases, const VerifyOptions& options);

}  // namespace recuda
