// mbarrier objects: a 64-bit word of shared memory that counts arrivals and bytes still to come.
#pragma once

#include <cstdint>

#include "device/vgpu/warp.h"

namespace recuda::vgpu {

/// The word as it stands in memory; what mbarrier.arrive gives back is the word before it.
struct PhaseWord {
    static constexpr uint32_t kMost = (1u << 20) - 1;  // arrivals, and bytes either way
    uint32_t pending = 0, expected = 0;
    int32_t bytes = 0;  // to come
    bool phase = false, valid = false;

    static PhaseWord of(uint64_t bits);
    uint64_t bits() const;
};

/// `bytes` of a copy have come to the mbarrier at a shared address, which may name a rank; false after a fault.
bool complete_bytes(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, int64_t bytes);

}  // namespace recuda::vgpu
