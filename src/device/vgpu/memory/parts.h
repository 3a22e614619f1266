// Parts of reach (access.h), by space, and what they share.
#pragma once

#include <string>

#include "device/vgpu/faults.h"
#include "device/vgpu/memory/access.h"

namespace recuda::vgpu {

inline void count_traffic(Traffic& traffic, uint64_t bytes, uint64_t sectors) {
    ++traffic.requests;
    traffic.bytes += bytes;
    traffic.sectors += sectors;
}

/// The fault of a misaligned access at byte `offset` of something.
Fault misaligned(std::string name, int64_t offset, uint32_t width);
Mask misaligned_lanes(const uint64_t* address, Mask active, uint32_t width);

bool reach_local(Warp& warp, const Instruction& in, const uint64_t* address, Mask active, uint32_t width, Intent intent,
                 Access& access);
bool reach_parameter(Warp& warp, const Instruction& in, const uint64_t* address, Mask active, uint32_t width,
                     Intent intent, Access& access);

}  // namespace recuda::vgpu
