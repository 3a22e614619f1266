// The virtual GPU: a Device that interprets PTX on the CPU with memory, race and initialisation checks and counters.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "device/device.h"

namespace recuda {

struct VgpuOptions {
    std::string target = "sm_90";  // the architecture it stands for
    uint64_t seed = 0;             // addresses, clocks, SM numbers and grid ids
    unsigned threads = 0;          // host threads; 0: all cores
    uint64_t fuel = 0;             // warp instructions a warp may run before it is a runaway; 0: the default
};

std::unique_ptr<Device> make_vgpu(const VgpuOptions& options = {});

}  // namespace recuda
