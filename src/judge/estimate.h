// A number to rank candidates by where no device measures time, from what the virtual GPU counted. It is not a time and
// is never shown as one; docs/measuring.md says what it is good for.
//
// In units near a nanosecond of a large GPU: what launching costs, plus one warp's own instructions and barriers, plus
// the largest of three: the sectors over the bandwidth; the requests for reading in waves of as many as the warps in
// residence keep under way, one latency a wave (this is where 16-byte accesses win); the issue of all instructions on
// the SMs in use. Bank conflicts come on top. Lower is better.
#pragma once

#include "device/counters.h"
#include "device/device.h"
#include "kernel/launch_plan.h"

namespace recuda {

/// Of one run of a workload's launches, which the counters sum up. `scale` > 1: of a workload with so many times the
/// tokens, taken to have so many times the blocks.
double estimate(const Counters& counters, const LaunchPlan& plan, const DeviceInfo& info, double scale = 1);

}  // namespace recuda
