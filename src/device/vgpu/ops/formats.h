// Number formats and exact rounding: what hardware does in one instruction, from the host's float and double.
//
// Directed roundings and the narrow formats rest on one idea: an exact result is first rounded *to odd* in a wider
// format (a result that is not exact gets an odd last digit), and rounding that once more to a format at least two
// digits narrower is as good as rounding the exact result (Boldo and Melquiond, 2008). Nothing here depends on the
// host's rounding mode, and every function is total, free of calls and written with selections so that loops over it
// vectorise.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "device/vgpu/ops/modifiers.h"

namespace recuda::vgpu {

inline constexpr uint32_t kNan = 0x7fffffff;                // what f32 instructions give
inline constexpr uint16_t kHalfNan = 0x7fff;                // f16 and bf16
inline constexpr uint64_t kDoubleNan = 0xfff8000000000000;  // an invalid f64 operation

inline float as_float(uint32_t bits) { return std::bit_cast<float>(bits); }
inline uint32_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }
inline double as_double(uint64_t bits) { return std::bit_cast<double>(bits); }
inline uint64_t bits_of(double value) { return std::bit_cast<uint64_t>(value); }

inline bool is_nan(float x) { return x != x; }
inline bool is_nan(double x) { return x != x; }

/// `yes` or `no` by masking: chains of conditions become branches that keep a loop from vectorising.
inline uint32_t choose(bool condition, uint32_t yes, uint32_t no) {
    const uint32_t mask = 0u - static_cast<uint32_t>(condition);
    return (yes & mask) | (no & ~mask);
}

inline float canonical(float x) { return as_float(is_nan(x) ? kNan : bits_of(x)); }

/// A denormal becomes the zero of its sign.
inline float flushed(float x) {
    const uint32_t bits = bits_of(x);
    return as_float((bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits);
}

/// What .ftz makes of a result that `exact` (or its value rounded to odd) was rounded to: the zero of its sign where
/// the value, rounded to 24 digits as if exponents had no end, lies below the normal numbers. So 2^-126 - 2^-150 is
/// flushed although it would be rounded up to 2^-126 among the denormals (seen on an H200).
template <Rounding rounding>
float flushed_tiny(float rounded, double exact) {
    const uint32_t bits = bits_of(rounded);
    const double magnitude = std::fabs(exact);
    const bool tiny = rounding == Rounding::nearest ? magnitude < 0x1.ffffffp-127 : magnitude <= 0x1.fffffep-127;
    return as_float(tiny || (bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits);
}

/// Into [0, 1]; NaN and -0 become +0.
inline float saturated(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
inline double saturated(double x) { return x > 0.0 ? (x < 1.0 ? x : 1.0) : 0.0; }

/// What an f32 instruction does to its operands and to its result.
template <bool ftz>
float input(float x) {
    return ftz ? flushed(x) : x;
}
template <bool ftz, bool sat>
float output(float x) {
    if constexpr (sat) return saturated(ftz ? flushed(x) : x);
    return canonical(ftz ? flushed(x) : x);
}

/// `rounded` is the exact value but for an error of the sign of `error`: the neighbour with an odd last digit.
inline double to_odd(double rounded, double error) {
    const uint64_t bits = bits_of(rounded);
    const bool outward = (bits_of(error) ^ bits) >> 63 == 0;
    const bool adjusts = error != 0 && (bits & 1) == 0 && (bits & 0x7ff0000000000000) != 0x7ff0000000000000;
    return as_double(adjusts ? (outward ? bits + 1 : bits - 1) : bits);
}

/// The sum of two numbers rounded to odd (Knuth's error-free sum; no overflow may occur). NaN and infinities pass.
inline double sum_to_odd(double a, double b) {
    const double sum = a + b;
    const double virtual_b = sum - a;
    const double error = (a - (sum - virtual_b)) + (b - virtual_b);
    return to_odd(sum, error);
}

/// A double as float, rounded to odd.
inline float float_to_odd(double value) {
    const auto nearest = static_cast<float>(value);
    const uint32_t bits = bits_of(nearest);
    const double error = value - static_cast<double>(nearest);
    const bool outward = std::fabs(value) > std::fabs(static_cast<double>(nearest));
    const bool adjusts = static_cast<double>(nearest) != value && !is_nan(error) && (bits & 1) == 0;
    return as_float(adjusts ? (outward ? bits + 1 : bits - 1) : bits);
}

namespace detail {
/// Steps from the nearest value's bits where `nearest` lies on the wrong side of `exact` for a directed rounding.
template <Rounding rounding, typename Bits, typename Real>
Bits directed(Bits bits, Real nearest, Real exact) {
    const bool negative = bits >> (8 * sizeof(Bits) - 1) != 0;
    if constexpr (rounding == Rounding::zero) {
        const bool beyond = negative ? nearest < exact : nearest > exact;
        return static_cast<Bits>(beyond ? bits - 1 : bits);
    } else if constexpr (rounding == Rounding::minus) {
        return static_cast<Bits>(nearest > exact ? (negative ? bits + 1 : bits - 1) : bits);
    } else if constexpr (rounding == Rounding::plus) {
        return static_cast<Bits>(nearest < exact ? (negative ? bits - 1 : bits + 1) : bits);
    } else {
        return bits;
    }
}
}  // namespace detail

/// A double as float in the given rounding.
template <Rounding rounding>
float narrowed(double exact) {
    const auto nearest = static_cast<float>(exact);
    return as_float(detail::directed<rounding>(bits_of(nearest), static_cast<double>(nearest), exact));
}

inline float from_half(uint16_t half) {
    const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
    const uint32_t magnitude = static_cast<uint32_t>(half & 0x7fff) << 13;
    // As a float's bits the magnitude is 2^112 too small, denormals too; exponent 31 is infinity or NaN.
    const uint32_t scaled = bits_of(as_float(magnitude) * 0x1p112f);
    return as_float(sign | scaled | choose(magnitude >= 0x0f800000u, 0x7f800000u, 0));
}

inline float from_bfloat(uint16_t bfloat) { return as_float(static_cast<uint32_t>(bfloat) << 16); }

namespace detail {
inline uint16_t nearest_half(float x) {
    const uint32_t bits = bits_of(x), magnitude = bits & 0x7fffffff;
    const uint32_t sign = bits >> 16 & 0x8000;
    const uint32_t normal = (magnitude + 0xfff + (magnitude >> 13 & 1) - (112u << 23)) >> 13;
    // Adding 0.5 leaves a denormal's digits, rounded, at the end of the sum.
    const uint32_t denormal = bits_of(as_float(magnitude) + 0.5f) - bits_of(0.5f);
    const uint32_t finite = choose(magnitude < 0x38800000u, denormal, normal);
    const uint32_t result = sign | choose(magnitude >= 0x477ff000u, 0x7c00, finite);
    return static_cast<uint16_t>(choose(magnitude > 0x7f800000u, kHalfNan, result));
}

inline uint16_t nearest_bfloat(float x) {
    const uint32_t bits = bits_of(x);
    const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return static_cast<uint16_t>(choose((bits & 0x7fffffff) > 0x7f800000u, kHalfNan, rounded));
}
}  // namespace detail

template <Rounding rounding = Rounding::nearest>
uint16_t to_half(float x) {
    const uint16_t nearest = detail::nearest_half(x);
    return detail::directed<rounding>(nearest, from_half(nearest), x);
}

template <Rounding rounding = Rounding::nearest>
uint16_t to_bfloat(float x) {
    const uint16_t nearest = detail::nearest_bfloat(x);
    return detail::directed<rounding>(nearest, from_bfloat(nearest), x);
}

/// Sets the bit of NaN results of f64 instructions: the first NaN operand made quiet, else the invalid operation's NaN.
template <typename... Operands>
double with_payload(double result, Operands... operands) {
    uint64_t bits = kDoubleNan;
    bool found = false;
    ((bits = !found && is_nan(operands) ? bits_of(operands) | 0x0008000000000000 : bits,
      found = found || is_nan(operands)),
     ...);
    return is_nan(result) ? as_double(bits) : result;
}

/// From f64 a NaN keeps its sign and the upper digits of its payload, quiet.
inline float narrow_nan(double x) {
    const uint64_t bits = bits_of(x);
    return as_float(static_cast<uint32_t>(bits >> 32 & 0x80000000u) | 0x7fc00000u |
                    static_cast<uint32_t>(bits >> 29 & 0x003fffffu));
}

/// The smaller or larger number; -0 is below +0; a NaN loses against a number, or wins with `keeps_nan`.
template <bool maximum, bool keeps_nan>
float extreme(float a, float b) {
    const uint32_t x = bits_of(a), y = bits_of(b);
    const uint32_t equal = maximum ? x & y : x | y;
    const uint32_t ordered = (maximum ? a > b : a < b) ? x : (a == b ? equal : y);
    if constexpr (keeps_nan) return as_float(is_nan(a) || is_nan(b) ? kNan : ordered);
    return as_float(is_nan(a) ? (is_nan(b) ? kNan : y) : is_nan(b) ? x : ordered);
}

template <bool maximum, bool keeps_nan>
float extreme_of_magnitudes(float a, float b) {
    const float result = extreme<maximum, keeps_nan>(std::fabs(a), std::fabs(b));
    const uint32_t sign = (bits_of(a) ^ bits_of(b)) & 0x80000000u;
    return as_float(is_nan(result) ? kNan : bits_of(result) | sign);
}

/// A format of 4 to 8 bits: sign, exponent and mantissa digits, and what stands for NaN.
struct SmallFormat {
    int exponent_bits;
    int mantissa_bits;
    int bias;
    uint32_t largest;  // the largest finite magnitude's code
    uint32_t nan;      // the code that NaN becomes
    bool has_infinity;
};
inline constexpr SmallFormat kE4m3{4, 3, 7, 0x7e, 0x7f, false};
inline constexpr SmallFormat kE5m2{5, 2, 15, 0x7b, 0x7f, true};
inline constexpr SmallFormat kE2m1{2, 1, 1, 0x7, 0x7, false};
inline constexpr SmallFormat kE2m3{2, 3, 1, 0x1f, 0x1f, false};
inline constexpr SmallFormat kE3m2{3, 2, 3, 0x1f, 0x1f, false};

/// The nearest code, ties to even, beyond the largest the largest.
template <const SmallFormat& format>
uint32_t to_small(float x) {
    constexpr int kShift = 23 - format.mantissa_bits;
    constexpr uint32_t kSign = 1u << (format.exponent_bits + format.mantissa_bits);
    constexpr uint32_t kSmallest = static_cast<uint32_t>(127 + 1 - format.bias) << 23;  // the smallest normal number
    const uint32_t bits = bits_of(x), magnitude = bits & 0x7fffffff;
    const uint32_t sign = bits >> 31 != 0 ? kSign : 0;
    const uint32_t normal = (magnitude + (1u << (kShift - 1)) - 1 + (magnitude >> kShift & 1) -
                             (static_cast<uint32_t>(127 - format.bias) << 23)) >>
                            kShift;
    // A constant whose last digit weighs as much as the format's smallest denormal rounds the sum there.
    constexpr uint32_t kMagic = static_cast<uint32_t>(127 + 1 - format.bias + kShift) << 23;
    const uint32_t denormal = bits_of(as_float(magnitude) + as_float(kMagic)) - kMagic;
    const uint32_t finite = magnitude < kSmallest ? denormal : normal;
    const uint32_t limited = finite < format.largest && magnitude < 0x7f800000u ? finite : format.largest;
    return magnitude > 0x7f800000u ? format.nan : sign | limited;
}

template <const SmallFormat& format>
float from_small(uint32_t code) {
    constexpr uint32_t kSign = 1u << (format.exponent_bits + format.mantissa_bits);
    constexpr int kShift = 23 - format.mantissa_bits;
    const uint32_t magnitude = code & (kSign - 1);
    const uint32_t sign = (code & kSign) != 0 ? 0x80000000u : 0;
    constexpr float kScale = std::bit_cast<float>(static_cast<uint32_t>(127 + 127 - format.bias) << 23);
    uint32_t result = bits_of(as_float(magnitude << kShift) * kScale);
    if (format.largest != format.nan && magnitude > format.largest) {
        result = format.has_infinity && (magnitude & 3) == 0 ? 0x7f800000u : kNan;
    }
    return as_float(sign | result);
}

}  // namespace recuda::vgpu
