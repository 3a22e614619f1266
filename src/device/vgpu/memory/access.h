// From a warp's addresses to the host's memory, with all checks and counts of one access.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/counters.h"
#include "device/vgpu/memory/layout.h"
#include "device/vgpu/memory/pattern.h"
#include "device/vgpu/memory/stripes.h"
#include "device/vgpu/ptx/ptx.h"
#include "device/vgpu/warp.h"

namespace recuda::vgpu {

/// Where the lanes' bytes lie on the host. Inactive lanes point where the first active one does.
struct Access {
    bool contiguous = false;  // all 32 lanes, one after another from lane[0]
    std::byte* lane[kLanes];

    bool followed = false;  // global memory whose races are followed: the locks of its pages are held
    StripesHeld held;       // until the access is done
};

/// What a write is about to write, for checks that have to know: lane i's bytes go to values + i * 32.
class WrittenValues {
 public:
    template <typename F>
    explicit WrittenValues(const F& values)
        : values_(&values), get_([](const void* self, std::byte* to) { (*static_cast<const F*>(self))(to); }) {}
    void get(std::byte* to) const { get_(values_, to); }

 private:
    const void* values_;
    void (*get_)(const void*, std::byte*);
};

enum class Intent : uint8_t { read, write, atomic };

/// Addresses of a memory instruction: base register `in.a` (64 bits with kWideBase in mode) plus `in.immediate`.
void addresses_of(Warp& warp, const Instruction& in, Mask active, uint64_t* address);

/// The space that a generic address lies in, and the address within it.
ptx::Space space_of(uint64_t generic, uint64_t* address);

/// Checks and counts a read, a write or an atomic of `width` bytes a lane in one space; addresses are those of the
/// space. False after a fault. Writes of shared memory go through SharedMemory::write instead. With `values`, a write
/// to global memory of what is there already is no race with the one that wrote it.
bool reach(Warp& warp, const Instruction& in, ptx::Space space, const uint64_t* address, Mask active, uint32_t width,
           Intent intent, Access& access, const WrittenValues* values = nullptr);

/// The same for shared addresses some of which name a rank (layout.h); carries out a write where `values` are given,
/// lane i's at values + i * 32. (peer.cpp)
bool reach_peers(Warp& warp, const Instruction& in, const uint64_t* address, Mask active, uint32_t width, Intent intent,
                 Access& access, const std::byte* values);

/// The block of the cluster whose shared memory a lane's address names, and the address within it; null after a fault
/// where it cannot be reached. (peer.cpp)
Block* reach_owner(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, uint32_t bytes,
                   uint32_t* inside);

/// The parts of reach that a write to shared memory needs too: alignment and counts. False after a fault.
bool prepare_shared(Warp& warp, const Instruction& in, const uint64_t* address, Mask active, uint32_t width,
                    const Pattern& pattern);

/// Counts an access of `width` bytes a lane to local memory that moves `bytes` in all.
void count_local(Traffic& traffic, const uint64_t* address, Mask active, uint32_t width, uint64_t bytes);

}  // namespace recuda::vgpu
