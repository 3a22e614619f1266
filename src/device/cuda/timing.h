// How long runs take on the GPU, by its own event clock.
//
// A sample is: persisting L2 lines reset; a kernel that holds the stream; an event, `runs_per_sample` runs on
// successive buffer sets, an event; then the hold is released, so that the host's launches are not in the span. Several
// runs are captured into one CUDA graph (captured once for each place in the rotation at which a sample begins). Events
// resolve about 0.5 us: where a span would be shorter than 10 us, so many runs are taken that it has about 100 us, and
// `method` says so. Nothing is subtracted: a span holds the events' own microsecond or two and the start of its graph,
// which varied by 3 us on an H200, spread over its runs. After each sample a one-thread kernel counts SM cycles for
// 20 us; NVML is not used, for it has no clocks on integrated cards.
//
// Where the request names outputs, those of every run of a sample are checked and wiped before the next sample begins
// (output_check.h). After 5 ms of work the GPU rests as long: a card at its limit of power lowers its clocks within
// milliseconds, and times of a heated card are not those of the first.
#pragma once

#include "device/cuda/driver.h"
#include "device/cuda/guarded_memory.h"
#include "device/cuda/launcher.h"
#include "device/cuda/own_kernels.h"
#include "device/cuda/probe.h"
#include "device/device.h"

namespace recuda::cuda {

/// What timing works with; all outlive it.
struct TimingParts {
    const Driver& driver;
    CUstream stream;
    GuardedMemory& memory;
    Launcher& launcher;
    Probe& probe;
    OwnKernels& kernels;
};

/// Throws Error for a request without sequences or samples.
Timing time_runs(const TimingParts& parts, const TimingRequest& request);

}  // namespace recuda::cuda
