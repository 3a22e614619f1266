// How long runs take on the GPU, by its own event clock.
//
// A sample is: persisting L2 lines reset; a kernel that holds the stream; an event, `runs_per_sample` runs on
// successive buffer sets, an event; then the hold is released, so that the host's launches are not in the span. Several
// runs are captured into one CUDA graph (captured once for each place in the rotation at which a sample begins). Events
// resolve about 0.5 us: where a span would be shorter than 10 us, so many runs are taken that it has about 100 us, and
// `method` says so. Nothing is subtracted: a span holds the events' own microsecond or two and the start of its graph,
// which varied by 3 us on an H200, spread over its runs. After each sample a one-thread kernel counts SM cycles for
// 20 us; NVML is not used, for it has no clocks on integrated cards.
#pragma once

#include "device/cuda/driver.h"
#include "device/cuda/guarded_memory.h"
#include "device/cuda/launcher.h"
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
};

/// Throws Error for a request without sequences or samples.
Timing time_runs(const TimingParts& parts, const TimingRequest& request);

}  // namespace recuda::cuda
