// Where the rows of matrices lie in a warp's registers: the same for mma and wgmma (PTX ISA 9.0, sections 9.7.14.5 and
// 9.7.15.5.1).
//
// A row of A and a column of B lie in the registers of four neighbouring lanes, 16 bytes of it in each register (of
// f64, 32). With group = lane / 4, register r of A holds part r / 2 of row group + 8 (r % 2) (with 8 rows in all: part
// r of row group), register r of B part r of column group; register r of eight columns of C and D row group + 8 (r /
// 2), column 2 (lane % 4) + r % 2, f16 both columns in one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "device/vgpu/ops/tensor_sum.h"

namespace recuda::vgpu {

/// The bytes of row `row` of A (or column `row` of B, without halves), `part` of them from each register.
inline void gather_row(const std::byte* file, std::span<const uint32_t> registers, bool two_halves, uint32_t row,
                       uint32_t part, std::byte* to) {
    const uint32_t group = row % 8, step = two_halves ? 2 : 1;
    for (size_t r = row / 8; r < registers.size(); r += step, to += part)
        std::memcpy(to, file + registers[r] + size_t{group} * part, part);
}

/// Row `row` of eight columns of C, whose first register is *offsets.
inline void gather_sums(const std::byte* file, const uint32_t* offsets, bool halves, uint32_t row, uint32_t* sums) {
    const uint32_t group = row % 8 * 16;
    uint32_t even[4], odd[4];
    if (halves) {
        std::memcpy(even, file + offsets[row / 8] + group, sizeof even);
        for (uint32_t i = 0; i < 4; ++i) sums[2 * i] = even[i] & 0xffff, sums[2 * i + 1] = even[i] >> 16;
        return;
    }
    std::memcpy(even, file + offsets[row / 8 * 2] + group, sizeof even);
    std::memcpy(odd, file + offsets[row / 8 * 2 + 1] + group, sizeof odd);
    for (uint32_t i = 0; i < 4; ++i) sums[2 * i] = even[i], sums[2 * i + 1] = odd[i];
}

inline void scatter_sums(std::byte* file, const uint32_t* offsets, bool halves, uint32_t row, const uint32_t* sums) {
    const uint32_t group = row % 8 * 16;
    uint32_t even[4], odd[4];
    if (halves) {
        for (uint32_t i = 0; i < 4; ++i) even[i] = sums[2 * i] | sums[2 * i + 1] << 16;
        std::memcpy(file + offsets[row / 8] + group, even, sizeof even);
        return;
    }
    for (uint32_t i = 0; i < 4; ++i) even[i] = sums[2 * i], odd[i] = sums[2 * i + 1];
    std::memcpy(file + offsets[row / 8 * 2] + group, even, sizeof even);
    std::memcpy(file + offsets[row / 8 * 2 + 1] + group, odd, sizeof odd);
}

}  // namespace recuda::vgpu
