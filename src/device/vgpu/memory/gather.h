// Vector loads of which only some bytes are used: compilers read gaps and tails with their neighbours (demand.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/vgpu/ptx/ptx.h"
#include "device/vgpu/warp.h"

namespace recuda::vgpu {

/// `bytes` (a power of two) at byte `at` of an access.
struct Piece {
    uint8_t at = 0, bytes = 0;
};

/// The bytes `used` (bit i: byte i) as pieces of at most `element` bytes, each aligned to its size.
std::vector<Piece> pieces_of(uint32_t used, uint32_t width, uint32_t element);

inline constexpr uint32_t kGatherStep = 32;  // bytes between two lanes' values

/// Reads the pieces of in.width bytes at each active lane's address of `space`; lane i's bytes go to
/// values + i * kGatherStep. Alignment is checked of the whole access, all else of the pieces; counted as one access of
/// the pieces' bytes. False after a fault.
bool gather(Warp& warp, const Instruction& in, ptx::Space space, const uint64_t* address, Mask active,
            const std::vector<Piece>& pieces, std::byte* values);

}  // namespace recuda::vgpu
