// An mbarrier's word in memory, for those that change it.
#pragma once

#include <cstdint>
#include <string>

#include "device/vgpu/ops/mbarrier.h"

namespace recuda::vgpu {

inline constexpr uint32_t kWordBytes = 8;

/// An mbarrier that a lane has reached.
struct Reached {
    std::byte* at = nullptr;
    PhaseWord word;
    SharedMemory::PhaseClocks* clocks = nullptr;
};

/// Finds the mbarrier, and checks access and state; false after a fault. What a copy does is no access of the thread.
bool reach_word(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, Reached& reached,
                bool thread_does = true);
/// Adds to the bytes that are to come; false after a fault.
bool add_bytes(Warp& warp, const Instruction& in, uint32_t lane, PhaseWord& word, int64_t bytes);
/// Writes the word back, and ends the phase where nothing is to come.
void settle(Warp& warp, Reached& reached, bool may_complete);
/// A report of what an mbarrier cannot do.
void illegal_phase(Warp& warp, const Instruction& in, uint32_t lane, std::string message);

}  // namespace recuda::vgpu
