// Tensor maps of the virtual GPU: 128 opaque bytes, as a CUtensorMap has, that only tensor copies and tensormap.replace
// read. Layout, little endian:
//   bytes  0…3  magic "rTM1"    4…7  checksum of all other bytes
//   bytes  8…15 address        16…35 extents less one, 5 × u32      36…75 strides in bytes of dimensions 1…5, 5 × u64
//   bytes 76…85 box, 5 × u16   86…90 element strides, 5 × u8
//   bytes 91…94 rank less one, element type, swizzle and fill as tensormap.replace numbers them
// The rest is zero. A damaged map, or one that another tool made, is told by magic and checksum.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "device/device.h"
#include "device/vgpu/ptx/ptx.h"

namespace recuda::vgpu {

inline constexpr uint32_t kTensorMapBytes = 128, kTensorMapAlign = 64, kMostTensorRank = 5;

struct TensorMapFields {
    uint64_t address = 0;
    uint32_t rank = 1;
    uint64_t extents[kMostTensorRank] = {1, 1, 1, 1, 1};
    uint64_t strides[kMostTensorRank] = {};  // [i]: of dimension i + 1
    uint32_t box[kMostTensorRank] = {1, 1, 1, 1, 1};
    uint32_t element_strides[kMostTensorRank] = {1, 1, 1, 1, 1};
    uint32_t element_type = 0, swizzle = 0, fill = 0;

    uint32_t element_bytes() const;
    ptx::Type type() const;  // as reductions see it
    /// 0, 32, 64 or 128: the span of bytes within which pieces of 16 change places.
    uint32_t swizzle_span() const { return swizzle == 0 ? 0 : 16u << swizzle; }
    /// Elements of dimension `i` that a tile has.
    uint32_t tile_extent(uint32_t i) const {
        return i == 0 ? box[0] : (box[i] + element_strides[i] - 1) / element_strides[i];
    }
    /// The bit pattern of an element out of bounds: of NaN 0x7ff7 in every 16 bits, as an H200 has it.
    uint64_t fill_bits() const;
};

using TensorMapBytes = std::array<std::byte, kTensorMapBytes>;

TensorMapBytes encoded(const TensorMapFields& fields);
/// nullopt: no tensor map of ours. All zeros are one that tensormap.replace has still to fill.
std::optional<TensorMapFields> decoded(const TensorMapBytes& bytes);

/// A map that a launch passes, over memory at `address`; it has passed tensor_map_refusal.
TensorMapFields fields_of(const TensorMap& map, uint64_t address);

/// Where byte `address` of shared memory lies when tiles are swizzled within `span` bytes: address bits 4… are XORed
/// with those above them (PTX ISA, "Swizzling Modes").
inline uint32_t swizzled(uint32_t address, uint32_t span) {
    return span == 0 ? address : address ^ ((address >> 3) & (span - 16));
}

}  // namespace recuda::vgpu
