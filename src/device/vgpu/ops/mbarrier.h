// mbarrier objects: a 64-bit word of shared memory that counts arrivals and bytes still to come.
#pragma once

#include <cstdint>
#include <string>

#include "device/vgpu/memory/shared.h"
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

// What asynchronous copies do to the mbarrier at a shared address that names a rank. They are no accesses of the
// thread, and `clock` is what they order before who waits. False after a fault.

/// There is an mbarrier.
bool check_mbarrier(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address);
/// `bytes` of a copy have come.
bool complete_bytes(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, int64_t bytes,
                    const SharedMemory::Clock& clock);
/// One more arrival is to come.
bool expect_arrival(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address);
/// An arrival when copies are done.
bool arrive_late(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, const SharedMemory::Clock& clock);

/// For reports: which mbarrier a waiting group's first lane waits for, and what is missing there.
std::string describe_wait(const Block& block, const Warp& warp, const Group& group);

}  // namespace recuda::vgpu
