// All blocks of a launch on the host's threads.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "device/counters.h"
#include "device/vgpu/block.h"

namespace recuda::vgpu {

struct GridResult {
    FaultLog faults;
    std::string printed;
};

/// Runs every block. A block that takes long goes behind those that have not started, so that blocks may wait for each
/// other. The result does not depend on the number of threads, except through what the kernel itself leaves to chance.
GridResult run_grid(LaunchState& launch, unsigned threads, Counters& counters);

}  // namespace recuda::vgpu
