// The GPUs that a target architecture stands for when none is there: whose limits launches are checked against and
// whose peak the estimates use.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"

namespace recuda {

/// Facts of the GPU that `target` ("sm_90", "sm_90a", "sm_120f") stands for, as a `vgpu` device. Throws Error for an
/// unknown target.
DeviceInfo gpu_of_target(std::string_view target);

/// The same of a GPU by its short name: "h200", "l4", "rtx4090" … Throws UsageError for an unknown one.
DeviceInfo gpu_named(std::string_view word);

/// The targets there are, oldest first.
std::vector<std::string> gpu_targets();

}  // namespace recuda
