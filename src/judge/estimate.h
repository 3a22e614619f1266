// A number to rank candidates by where no device measures time, from what the virtual GPU counted. It is not a time and is never
// shown as one; docs/measuring.md has the model and what it is good for.
//
// For each launch of a workload, in units near a nanosecond of a large GPU: what launching costs, the latency of one warp's
// own work (its instructions, its requests for memory, barriers), and on top of it the larger of what the memory needs to move the
// sectors and what the SMs in use need to issue the instructions. Lower is better.
#pragma once

#include "device/counters.h"
#include "device/device.h"
#include "kernel/launch_plan.h"

namespace recuda {

/// Of one run of a workload's launches, which the counters sum up.
double estimate(const Counters& counters, const LaunchPlan& plan, const DeviceInfo& info);

}  // namespace recuda
