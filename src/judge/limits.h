// What a device can launch, from the facts that it states.
#pragma once

#include "kernel/limits.h"

namespace recuda {

struct DeviceInfo;

DeviceLimits limits_of(const DeviceInfo& info);

}  // namespace recuda
