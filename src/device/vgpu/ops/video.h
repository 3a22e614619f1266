// What the scalar and the SIMD video instructions share: operations on integers wider than their operands, and
// comparisons.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "device/vgpu/decode.h"
#include "device/vgpu/ops/modifiers.h"

namespace recuda::vgpu {

enum class VideoOperation : uint8_t { add, subtract, average, difference, minimum, maximum };

/// Exact for operands of 33 bits. The average rounds a half up, a negative one down (PTX ISA 9.0, vavrg2).
inline int64_t video_result(VideoOperation operation, int64_t a, int64_t b) {
    switch (operation) {
        case VideoOperation::add:
            return a + b;
        case VideoOperation::subtract:
            return a - b;
        case VideoOperation::average:
            return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
        case VideoOperation::difference:
            return a > b ? a - b : b - a;
        case VideoOperation::minimum:
            return a < b ? a : b;
        default:
            return a > b ? a : b;
    }
}

enum class VideoComparison : uint8_t { eq, ne, lt, le, gt, ge };

inline bool video_compares(VideoComparison comparison, int64_t a, int64_t b) {
    switch (comparison) {
        case VideoComparison::eq:
            return a == b;
        case VideoComparison::ne:
            return a != b;
        case VideoComparison::lt:
            return a < b;
        case VideoComparison::le:
            return a <= b;
        case VideoComparison::gt:
            return a > b;
        default:
            return a >= b;
    }
}

/// Takes the comparison of vset, vset2 and vset4.
VideoComparison take_video_comparison(Modifiers& modifiers, const ptx::Statement& statement);

/// The low `bits` of a word, extended by their sign or by zeros.
inline int64_t video_field(uint32_t word, uint32_t bits, bool is_signed) {
    const uint32_t shift = 32 - bits;
    return is_signed ? int64_t{static_cast<int32_t>(word << shift) >> shift} : int64_t{word << shift >> shift};
}

/// `value` clamped to the range of an integer of `bits` bits.
template <typename T>
T video_clamped(T value, uint32_t bits, bool is_signed) {
    const T least = is_signed ? -(T{1} << (bits - 1)) : T{0};
    const T most = is_signed ? (T{1} << (bits - 1)) - 1 : (T{1} << bits) - 1;
    return value < least ? least : (value > most ? most : value);
}

/// Takes .u32 or .s32; true for the latter. Types are taken from the last to the first.
bool take_video_type(Modifiers& modifiers, const ptx::Statement& statement);

/// vadd, vsub, vabsdiff, vmin, vmax, vshl, vshr, vmad, vset.
std::span<const OpRow> video_rows();
/// vadd2, vsub2, vavrg2, vabsdiff2, vmin2, vmax2, vset2, and the same of four bytes.
std::span<const OpRow> video_simd_rows();

}  // namespace recuda::vgpu
