// What bulk copies of runs and of tensors share.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "device/vgpu/cluster.h"
#include "device/vgpu/ops/address.h"
#include "device/vgpu/ops/modifiers.h"
#include "device/vgpu/program.h"

namespace recuda::vgpu {

inline constexpr uint32_t kBulkPiece = 16;          // bytes: alignment and unit of bulk copies
inline constexpr uint64_t kMostShared = 256 << 10;  // bytes: more than the shared memory of any block

/// Whether a copy of so many bytes can have its place in shared memory at all; false after a fault. Its cost is charged
/// to the warp's turn, against endless loops of copies.
bool fits_shared(Warp& warp, const Instruction& in, uint32_t lane, uint64_t bytes);

/// An address of the statement: a register file offset, an offset in bytes and whether the register has 64 bits.
struct Place {
    ptx::Space space = ptx::Space::none;
    uint32_t base = 0;
    int64_t offset = 0;
    bool wide = false;

    uint64_t of(const Warp& warp, uint32_t lane) const {
        if (!wide) {
            uint32_t narrow;
            std::memcpy(&narrow, warp.registers + base + lane * 4, 4);
            return narrow + static_cast<uint32_t>(offset);
        }
        uint64_t whole;
        std::memcpy(&whole, warp.registers + base + lane * 8, 8);
        return whole + static_cast<uint64_t>(offset);
    }
};

Place place_of(ProgramDecoder& decoder, const ptx::Operand& operand, ptx::Space space);

/// Where the bytes of a copy into shared memory go and which mbarrier is told: without `multicast` the addresses say
/// which block's, with it the same ones in every block of `ranks`.
struct SharedTarget {
    uint64_t to = 0, barrier = 0;
    bool multicast = false;
    uint32_t ranks = 1;
    uint32_t align = kBulkPiece;
};

/// Issues a copy to shared memory: `transfer` has data, source and reduction. False after a fault.
bool issue_to_shared(Warp& warp, const Instruction& in, uint32_t lane, const SharedTarget& target, Transfer transfer,
                     uint32_t signal_bytes);

/// Reads `bytes` of the block's own shared memory at an address for a copy, and pins them; see SharedMemory::pin for
/// `used`. False after a fault.
bool take_shared(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, uint32_t bytes, uint32_t align,
                 const std::vector<bool>& used, Transfer& transfer);

/// Reports that what an asynchronous copy is told is no multiple of what it must be.
bool misaligned_bulk(Warp& warp, const Instruction& in, uint32_t lane, std::string what, uint64_t value,
                     uint32_t align);

/// The operation and type of cp.reduce, with a type's rules as the PTX ISA lists them for the destination.
Reduction take_reduction(Modifiers& modifiers, ptx::Space destination);

}  // namespace recuda::vgpu
