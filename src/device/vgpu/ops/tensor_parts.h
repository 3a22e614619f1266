// Floats as tensor cores align them: a significand and an exponent.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/vgpu/ops/formats.h"
#include "device/vgpu/ops/tensor_sum.h"

namespace recuda::vgpu {

inline constexpr int kLeastExponent = -126;         // no sum is aligned to a smaller exponent
inline constexpr int32_t kZeroExponent = -1000;     // the exponent of zero: far below all others
inline constexpr int32_t kLeftOutExponent = -2000;  // of what is left out of all sums

/// A float as significand and exponent, no smaller than `least`, that of the format's denormals.
struct Parts {
    float significand;
    int32_t exponent;
};
template <int least>
inline Parts parts_of(float value) {
    const uint32_t bits = bits_of(value), field = bits >> 23 & 0xff;
    const bool zero = (bits & 0x7fffffff) == 0;
    Parts parts;
    if constexpr (least == kLeastExponent) {
        const float normal = as_float((bits & 0x807fffffu) | 0x3f800000u);
        parts.significand = field == 0 ? value * 0x1p126f : normal;
        parts.exponent = std::max(static_cast<int32_t>(field) - 127, kLeastExponent);
    } else {
        // No format with other denormals reaches the ends of f32: the scale is a normal number.
        parts.exponent = std::max(static_cast<int32_t>(field) - 127, least);
        parts.significand = value * as_float(static_cast<uint32_t>(127 - parts.exponent) << 23);
    }
    if (zero) parts.exponent = kZeroExponent;
    // Infinity and NaN stay what they are: their sums show what the result is.
    if (field == 0xff) parts = {value, 0};
    return parts;
}

/// Elements that a sum of integers goes over: words of bits for b1.
inline uint32_t terms(const Product& product) { return product.a == Element::b1 ? product.k / 32 : product.k; }

}  // namespace recuda::vgpu
