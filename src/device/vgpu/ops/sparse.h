// Matrices of which half is zero: mma.sp keeps the other half of A, and metadata that say where it belongs.
//
// A row falls into chunks of four units: elements of 16 or 8 bits, halves of tf32, pairs of 4 bits. A chunk keeps two
// units; its four bits of metadata are their places, the first one's lowest. A thread's word of metadata has, for 16
// bits and tf32, 16 bits for row lane / 4 and above them 16 for the row eight below; neighbouring threads have the next
// columns. For narrower elements it has 32 bits of one row; of two neighbours the second has the row eight below, and
// the next two threads the next columns. Where not all four threads of a row are needed, the selector says which one or
// which pair it is. Sources: PTX ISA 9.0, section 9.7.14.6.1; CUTLASS, ELayout in cute/atom/mma_traits_sm90_gmma_sparse
// and mma_traits_sm120_sparse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "device/vgpu/ops/tensor_sum.h"

namespace recuda::vgpu {

struct Sparsity {
    uint32_t unit_bytes = 2;
    uint32_t row_bits = 32;  // of metadata
    uint32_t selector = 0;
    bool two_rows = true;  // in a word

    static Sparsity of(const Product& product, uint32_t selector) {
        const uint32_t bits = bits_of(product.a), unit = bits >= 16 ? 2 : 1;
        return {unit, product.k * bits / 8 / unit, selector, bits >= 16};
    }
    /// Threads of a quad that hold metadata.
    uint32_t threads() const { return row_bits / 16; }
    uint32_t selectors() const { return 4 / threads(); }

    /// The metadata of a row; `words` are those of the warp's lanes.
    uint64_t row(const uint32_t* words, uint32_t row) const {
        const uint32_t first = row % 8 * 4 + selector * threads(), half = row / 8;
        if (two_rows) {
            uint64_t bits = 0;
            for (uint32_t j = 0; j < threads(); ++j) bits |= uint64_t{words[first + j] >> 16 * half & 0xffff} << 16 * j;
            return bits;
        }
        return words[first + half] | (row_bits > 32 ? uint64_t{words[first + half + 2]} << 32 : 0);
    }

    /// Spreads what a row keeps over the row; bit i of the result: unit i is one of them.
    uint64_t spread(const std::byte* kept, uint64_t metadata, std::byte* row) const {
        uint64_t places = 0;
        std::memset(row, 0, size_t{row_bits} * unit_bytes);
        for (uint32_t i = 0; i < row_bits / 2; ++i) {
            const uint64_t place = i / 2 * 4 + (metadata >> 2 * i & 3);
            std::memcpy(row + place * unit_bytes, kept + size_t{i} * unit_bytes, unit_bytes);
            places |= uint64_t{1} << place;
        }
        return places;
    }
};

/// Takes what a row does not keep out of its sums.
inline void leave_out_zeros(const Product& product, const Sparsity& sparse, uint64_t kept, Row& row) {
    if (is_whole(product.a)) return;
    const uint32_t units = bits_of(product.a) / 8 / sparse.unit_bytes;  // an element
    for (uint32_t k = 0; k < product.k; ++k)
        if ((kept >> k * units & 1) == 0) leave_out(product, row, k);
}

}  // namespace recuda::vgpu
