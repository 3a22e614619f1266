// The operations of f32 and f64: rounded by the host where it rounds to nearest, otherwise once from a result in double
// that is exact or rounded to odd (formats.h).
#pragma once

#include <cmath>

#include "device/vgpu/ops/formats.h"

namespace recuda::vgpu {

/// An exact sum of zero is +0, or -0 when rounding down, unless both terms are zeros of one sign.
template <Rounding rounding>
double rounded_sum(double a, double b) {
    const double sum = sum_to_odd(a, b);
    if constexpr (rounding != Rounding::minus) return sum;
    const bool positive = (bits_of(a) | bits_of(b)) >> 63 == 0;
    return sum == 0 && !positive ? -0.0 : sum;
}

// Each operation has `nearest` for f32, `wide` with the result in double, and `apply` for f64 in the host's mode.

struct Add {
    static float nearest(float a, float b) { return a + b; }
    template <Rounding rounding>
    static double wide(float a, float b) {
        return rounded_sum<rounding>(a, b);
    }
    static double apply(double a, double b) { return a + b; }
};
struct Subtract {
    static float nearest(float a, float b) { return a - b; }
    template <Rounding rounding>
    static double wide(float a, float b) {
        return rounded_sum<rounding>(a, -b);
    }
    static double apply(double a, double b) { return a - b; }
};
struct Multiply {
    static float nearest(float a, float b) { return a * b; }
    template <Rounding rounding>
    static double wide(float a, float b) {
        return static_cast<double>(a) * b;  // 48 digits: exact
    }
    static double apply(double a, double b) { return a * b; }
};
struct Divide {
    static float nearest(float a, float b) { return a / b; }
    template <Rounding rounding>
    static double wide(float a, float b) {
        const double divisor = b, quotient = a / divisor;
        const double remainder = std::fma(-quotient, divisor, static_cast<double>(a));
        // The remainder is NaN where the quotient is infinite, NaN or divided by infinity: those are exact.
        const double error = as_double(bits_of(remainder) ^ (bits_of(divisor) & 0x8000000000000000));
        return to_odd(quotient, is_nan(remainder) ? 0.0 : error);
    }
    static double apply(double a, double b) { return a / b; }
};
struct FusedMultiplyAdd {
    static float nearest(float a, float b, float c) { return std::fma(a, b, c); }
    template <Rounding rounding>
    static double wide(float a, float b, float c) {
        return rounded_sum<rounding>(static_cast<double>(a) * b, c);
    }
    static double apply(double a, double b, double c) { return std::fma(a, b, c); }
};
struct Reciprocal {
    static float nearest(float a) { return 1.0f / a; }
    template <Rounding rounding>
    static double wide(float a) {
        return Divide::wide<rounding>(1.0f, a);
    }
    static double apply(double a) { return 1.0 / a; }
};
struct SquareRoot {
    static float nearest(float a) { return std::sqrt(a); }
    template <Rounding rounding>
    static double wide(float a) {
        const double value = a, root = std::sqrt(value), remainder = std::fma(-root, root, value);
        return to_odd(root, is_nan(remainder) ? 0.0 : remainder);
    }
    static double apply(double a) { return std::sqrt(a); }
};

/// An f32 instruction as a whole.
template <typename Operation, Rounding rounding, bool ftz, bool sat, typename... Sources>
float single_result(Sources... sources) {
    if constexpr (!ftz && rounding == Rounding::nearest) {
        return output<false, sat>(Operation::nearest(sources...));
    } else {
        const double exact = Operation::template wide<rounding>(input<ftz>(sources)...);
        const float rounded = narrowed<rounding>(exact);
        return output<false, sat>(ftz ? flushed_tiny<rounding>(rounded, exact) : rounded);
    }
}

}  // namespace recuda::vgpu
