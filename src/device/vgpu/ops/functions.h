// ex2, lg2, sin, cos, tanh of one float: polynomials in double, rounded to float once.
//
// PTX bounds the error of the .approx instructions but leaves their bits to the hardware; these are within an ulp of
// the exact value and not bit-equal to any GPU. Exact where the hardware is: ex2 of integers, lg2 of powers of two,
// zeros and infinities. No table and no branch, so that loops over them vectorise.
#pragma once

#include <cmath>
#include <cstdint>

#include "device/vgpu/ops/formats.h"

namespace recuda::vgpu {

/// Adding it to a double leaves the nearest integer in the low bits, for magnitudes below 2^51.
inline constexpr double kToInteger = 0x1.8p52;

/// 2^x for |x| below 1000; NaN passes. The series of e^(f ln 2) to the tenth power, |f| <= 1/2: relative error 2^-42.
inline double power_of_two(double x) {
    const double shifted = x + kToInteger;
    const double f = (x - (shifted - kToInteger)) * 0.69314718055994530942;
    double p = 1.0 / 3628800;
    p = p * f + 1.0 / 362880;
    p = p * f + 1.0 / 40320;
    p = p * f + 1.0 / 5040;
    p = p * f + 1.0 / 720;
    p = p * f + 1.0 / 120;
    p = p * f + 1.0 / 24;
    p = p * f + 1.0 / 6;
    p = p * f + 0.5;
    p = p * f + 1.0;
    p = p * f + 1.0;
    return p * as_double((bits_of(shifted) + 1023) << 52);
}

inline float exp2_of(float x) {
    double wide = x;
    wide = wide > 200.0 ? 200.0 : wide;
    wide = wide < -200.0 ? -200.0 : wide;
    return canonical(static_cast<float>(power_of_two(wide)));
}

/// Splits off the exponent and sums the series of artanh((m - 1) / (m + 1)) for m in [0.71, 1.41]: error 2^-44.
inline float log2_of(float x) {
    const uint64_t bits = bits_of(static_cast<double>(x));
    const double mantissa = as_double((bits & 0x000fffffffffffff) | 0x3ff0000000000000);
    const double exponent = as_double((bits >> 52 & 0x7ff) | 0x4330000000000000) - (0x1p52 + 1023);
    const bool upper = mantissa > 1.4142135623730951;
    const double m = upper ? mantissa * 0.5 : mantissa, e = upper ? exponent + 1 : exponent;
    const double s = (m - 1) / (m + 1), z = s * s;
    double p = 1.0 / 17;
    p = p * z + 1.0 / 15;
    p = p * z + 1.0 / 13;
    p = p * z + 1.0 / 11;
    p = p * z + 1.0 / 9;
    p = p * z + 1.0 / 7;
    p = p * z + 1.0 / 5;
    p = p * z + 1.0 / 3;
    p = p * z + 1.0;
    const float finite = static_cast<float>(e + p * s * 2.8853900817779268);
    const float special = x == 0 ? -INFINITY : (x > 0 ? x : as_float(kNan));
    return x > 0 && x < INFINITY ? finite : special;
}

/// Sine (quadrants = 0) or cosine (1); an infinity gives NaN. As an H200 does it, the angle is first divided by 2 pi
/// with one rounding towards zero in float: far from zero the result is that of another angle, the same one as there
/// (3.3e-7 apart at most, measured on all magnitudes).
inline float wave_of(float x, int quadrants) {
    const float product = narrowed<Rounding::zero>(static_cast<double>(x) * static_cast<double>(0x1.45f306p-3f));
    const double turns = std::fabs(product) < 0x1p24f ? product : 0.0;  // a float of 2^24 is whole
    const double shifted = turns * 4 + kToInteger;
    const double r = (turns * 4 - (shifted - kToInteger)) * 1.57079632679489661923;
    const double z = r * r;
    double s = -1.0 / 39916800;
    s = s * z + 1.0 / 362880;
    s = s * z - 1.0 / 5040;
    s = s * z + 1.0 / 120;
    s = s * z - 1.0 / 6;
    s = r * (1.0 + z * s);
    double c = 1.0 / 479001600;
    c = c * z - 1.0 / 3628800;
    c = c * z + 1.0 / 40320;
    c = c * z - 1.0 / 720;
    c = c * z + 1.0 / 24;
    c = c * z - 0.5;
    c = c * z + 1.0;
    const uint64_t quadrant = bits_of(shifted) + static_cast<uint64_t>(quadrants);
    const double value = (quadrant & 1) != 0 ? c : s;
    const auto finite = static_cast<float>(as_double(bits_of(value) ^ (quadrant & 2) << 62));
    return std::fabs(x) < INFINITY ? finite : as_float(kNan);
}

inline float tanh_of(float x) {
    const double wide = x, magnitude = std::fabs(wide);
    const double z = wide * wide;
    const double small = wide * (1 + z * (-1.0 / 3 + z * (2.0 / 15 - z * (17.0 / 315))));
    const double exponent = magnitude * 2.8853900817779268;
    const double large = 1 - 2 / (power_of_two(exponent < 100 ? exponent : 100) + 1);
    const double signed_large = as_double(bits_of(large) | (bits_of(wide) & 0x8000000000000000));
    const auto result = static_cast<float>(magnitude < 0.03 ? small : signed_large);
    return is_nan(x) ? as_float(kNan) : result;
}

}  // namespace recuda::vgpu
