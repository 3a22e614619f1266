// What a GPU asks of a launch.
#pragma once

#include <string>

#include "device/device.h"
#include "device/vgpu/program.h"

namespace recuda::vgpu {

/// A launch that cannot be: what the plan's own checks should have found before.
struct Refused {
    std::string why;
};

/// The launch's cluster or, where it names none, the one that the kernel is built for.
Dim3 cluster_of(const Launch& launch, const ptx::Function& entry);
/// Throws Refused.
void check_launch(const Launch& launch, const Program& program, const DeviceInfo& gpu);

}  // namespace recuda::vgpu
