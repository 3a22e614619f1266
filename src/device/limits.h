// From the facts of a device to the limits that launch plans are checked against.
#pragma once

#include "kernel/limits.h"

namespace recuda {

struct DeviceInfo;

DeviceLimits limits_of(const DeviceInfo& info);

}  // namespace recuda
