// A baseline: a named competitor of a task that is timed beside a candidate.
//
// One that runs as launches (`plain`, `reference`, `triton`, `cublaslt`) is timed by the device's worker process over
// the candidate's own ring of buffers, by the same clock. One that cannot (PyTorch) lives in a process of its own with
// the same inputs and the same protocol. Whoever compares takes the two in turns, a block of samples each.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "judge/own_program.h"
#include "judge/timed.h"

namespace recuda {

class Benchmark;
class Cases;

class Baseline {
 public:
    virtual ~Baseline() = default;

    /// As `--baselines` has it: "plain".
    virtual const std::string& name() const = 0;
    /// What it is, for the evidence: file or library with version, how it was tuned, how it runs.
    virtual std::string about() const = 0;

    /// So many samples of one run at this workload, cold where the workload's ring is. Outputs of timed runs are
    /// judged: a baseline that is wrong has the outcome `wrong`. Never throws for what the baseline does; DeviceLost
    /// where the device's process ended before.
    virtual Timed time(const Axes& axes, uint32_t samples) = 0;

    /// The device's process is gone, and with it buffers and modules: they are made again when they are needed.
    virtual void forget() = 0;
    /// Takes its code from the device, to be loaded anew where that can be had in little time.
    virtual void unload() {}
    /// A fresh session begins (a proof needs several): nothing that the last one placed in memory is used any more,
    /// inputs are taken from the session's cases again. Choices that were made by timing (tunables, a library's
    /// algorithm) stay, and so may what takes many seconds to make: a process of its own, what it has compiled.
    virtual void renew() { forget(); }
};

/// What baselines are made with; all outlive them.
struct BaselineParts {
    OwnPlace place;  // with every workload that will be asked for
    Cases& cases;
    Benchmark& benchmark;
};

/// A baseline, or why there is none here: the op has nothing for it, its software is missing.
struct Offer {
    std::unique_ptr<Baseline> baseline;
    std::string why;
};

}  // namespace recuda
