// What the addresses of one warp-wide access look like, and what they cost: 32-byte sectors and bank wavefronts.
#pragma once

#include <bit>
#include <cstdint>

#include "device/vgpu/machine.h"

namespace recuda::vgpu {

inline uint32_t first_lane(Mask mask) { return std::countr_zero(mask); }

/// Addresses of all 32 lanes; inactive lanes hold the first active lane's.
struct Pattern {
    uint64_t low = 0, high = 0;  // least and greatest start
    uint64_t bits = 0;           // all starts or-ed: alignment
    bool contiguous = false;     // lane i starts at low + i * width, all 32 lanes active
};

inline Pattern pattern_of(const uint64_t* address, Mask active, uint32_t width) {
    Pattern pattern;
    const uint64_t first = address[0];
    if (active == kFullMask) {
        uint64_t differences = 0;
        for (uint32_t lane = 0; lane < kLanes; ++lane)
            differences |= (address[lane] - first) ^ uint64_t { lane } * width;
        if (differences == 0) return {first, first + 31 * uint64_t{width}, first, true};
    }
    uint64_t low = first, high = first, bits = 0;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
        low = address[lane] < low ? address[lane] : low;
        high = address[lane] > high ? address[lane] : high;
        bits |= address[lane];
    }
    return {low, high, bits, false};
}

/// Distinct 32-byte sectors that the active lanes touch.
uint32_t sectors_of(const uint64_t* address, Mask active, uint32_t width, const Pattern& pattern);

/// Passes over the 32 banks of 4 bytes that an access to shared memory takes; accesses of 8 and 16 bytes go by half and
/// quarter warps.
uint32_t wavefronts_of(const uint64_t* address, Mask active, uint32_t width, const Pattern& pattern);

}  // namespace recuda::vgpu
