// The address space of the virtual GPU: windows of generic addresses, and where a program's shared variables lie.
#pragma once

#include <cstdint>
#include <optional>

namespace recuda::vgpu {

class Program;

/// Generic windows. Buffers begin at kGlobalBase; shared and local addresses count from 0 within their windows.
inline constexpr uint64_t kWindowBytes = 1ull << 32;
inline constexpr uint64_t kSharedWindow = 0x0000'7000'0000'0000;
inline constexpr uint64_t kLocalWindow = 0x0000'7100'0000'0000;
inline constexpr uint64_t kParameterWindow = 0x0000'7200'0000'0000;
inline constexpr uint64_t kGlobalBase = 0x0000'7f00'0000'0000;

/// Bytes between two shared variables that belong to neither: what runs past an array is seen. A multiple of 128, so
/// that a variable keeps its banks.
inline constexpr uint32_t kSharedGap = 256;
/// So much of a block's shared memory is the system's, as on GPUs from sm_80 on. It comes first, so that small negative
/// indices of the first variable are seen too.
inline constexpr uint32_t kReservedShared = 1024;
/// Within it, at %reserved_smem_offset_1, the memory by which the warps of cooperative groups' wide tiles meet; its
/// size by cooperative_groups/details/memory.h of CUDA 13.
inline constexpr uint32_t kTileMemory = 128, kTileBytes = 288;
inline constexpr uint32_t kLocalGap = 64;

/// In a cluster, an address within the shared window may name a block: its rank plus one stands in bits 24 to 31, the
/// address within that block's shared memory below. Without a rank it is the block's own.
inline constexpr uint32_t kRankShift = 24;
inline constexpr uint64_t kRankUnit = uint64_t{1} << kRankShift;

/// The rank in an address; none for the block's own and for what lies below the window.
inline std::optional<uint32_t> rank_of_address(uint64_t address) {
    const uint64_t field = address >> kRankShift;
    if (field == 0 || field >= 255) return std::nullopt;
    return static_cast<uint32_t>(field - 1);
}
inline uint64_t with_rank(uint64_t address, uint32_t rank) {
    return (address & (kRankUnit - 1)) | uint64_t{rank < 253 ? rank + 1 : 254} << kRankShift;
}

/// Gives the static shared variables their addresses.
void lay_out_shared(Program& program);

/// First address of dynamic shared memory: behind the static variables.
uint32_t dynamic_shared_start(const Program& program);

}  // namespace recuda::vgpu
