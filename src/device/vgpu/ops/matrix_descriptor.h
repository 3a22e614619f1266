// Matrices in shared memory as wgmma reads them.
//
// A descriptor has, in units of 16 bytes, the start address (bits 0 to 13), the leading-dimension offset (16 to 29) and
// the stride-dimension offset (32 to 45); the base offset (49 to 51) and the swizzle (62 and 63: none, 128, 64, 32
// bytes). A matrix is made of core matrices: eight lines of W * 16 bytes, W = 1, 8, 4, 2 by swizzle. K-major: a line is
// a row (of A; of B a column) along K; without swizzle the two lines along K of an instruction are a leading offset
// apart, with swizzle they follow each other; eight rows on is a stride offset. MN-major: a line is 8 W elements along
// M or N at one k; the next such piece is a leading offset away (without swizzle, a stride offset), eight k on is a
// stride offset (without swizzle, a leading offset). A swizzle exchanges the 16-byte chunks of 128-byte lines of the
// address space: bits 4 to 6 of an address, as many as W has, are xor-ed with its bits from 7 on, less the base offset.
// Sources: PTX ISA 9.0, section 9.7.15.5.1; the canonical layouts in CUTLASS, cute/atom/mma_traits_sm90_gmma.hpp.
#pragma once

#include <cstdint>

namespace recuda::vgpu {

struct MatrixDescriptor {
    uint32_t start = 0, leading = 0, stride = 0;  // bytes
    uint32_t base = 0;                            // lines of 128 bytes
    uint32_t chunks = 1;                          // W: of 16 bytes in a line

    static MatrixDescriptor of(uint64_t bits) {
        static constexpr uint32_t kChunks[] = {1, 8, 4, 2};
        const auto field = [&](int shift) { return static_cast<uint32_t>(bits >> shift & 0x3fff) << 4; };
        return {field(0), field(16), field(32), static_cast<uint32_t>(bits >> 49 & 7), kChunks[bits >> 62]};
    }

    /// Address of 16 bytes along K: chunk `part` of row `row`.
    uint32_t along_k(uint32_t row, uint32_t part) const {
        const uint32_t step = chunks == 1 ? leading : 16;
        return swizzled(start + row / 8 * stride + row % 8 * chunks * 16 + part * step);
    }
    /// Address of 8 elements of 16 bits along M or N, from 8 * `piece`, at one k.
    uint32_t along_rows(uint32_t piece, uint32_t k) const {
        const uint32_t next = chunks == 1 ? stride : leading, later = chunks == 1 ? leading : stride;
        return swizzled(start + piece % chunks * 16 + piece / chunks * next + k % 8 * chunks * 16 + k / 8 * later);
    }

 private:
    uint32_t swizzled(uint32_t address) const { return address ^ (((address >> 7) - base) & (chunks - 1)) << 4; }
};

}  // namespace recuda::vgpu
