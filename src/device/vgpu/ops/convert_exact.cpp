// The exact way: a value is widened to an integer of 64 bits with its sign, or to a double, which holds every float
// format, and rounded once.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "device/vgpu/ops/convert.h"
#include "device/vgpu/ops/formats.h"

namespace recuda::vgpu {
namespace {

using ptx::Type;

uint64_t extended(uint64_t bits, Type type) {
    const uint32_t shift = 64 - 8 * ptx::size_bytes(type);
    if (is_signed(type)) return static_cast<uint64_t>(static_cast<int64_t>(bits << shift) >> shift);
    return bits << shift >> shift;
}

double integral_value(double x, Integral how) {
    switch (how) {
        case Integral::nearest:
            return std::nearbyint(x);
        case Integral::zero:
            return std::trunc(x);
        case Integral::minus:
            return std::floor(x);
        case Integral::plus:
            return std::ceil(x);
        default:
            return x;
    }
}

template <typename F>
auto for_rounding(Rounding rounding, F f) {
    switch (rounding) {
        case Rounding::nearest:
            return f.template operator()<Rounding::nearest>();
        case Rounding::zero:
            return f.template operator()<Rounding::zero>();
        case Rounding::minus:
            return f.template operator()<Rounding::minus>();
        default:
            return f.template operator()<Rounding::plus>();
    }
}

double float_value(uint64_t bits, const Conversion& how) {
    switch (how.from) {
        case Type::f16:
            return from_half(static_cast<uint16_t>(bits));
        case Type::bf16:
            return from_bfloat(static_cast<uint16_t>(bits));
        case Type::f32: {
            // To f16 the hardware flushes nothing (seen on an H200).
            const float x = as_float(static_cast<uint32_t>(bits));
            return how.ftz && how.to != Type::f16 ? flushed(x) : x;
        }
        default:
            return as_double(bits);
    }
}

/// `x` is exact, or rounded to odd for formats narrower than f64.
uint64_t float_bits(double x, const Conversion& how) {
    if (how.sat) x = saturated(x);
    if (how.relu) x = x <= 0 ? 0.0 : x;
    const bool limits = how.satfinite && !is_nan(x);
    switch (how.to) {
        case Type::f16: {
            if (limits) x = std::clamp(x, -65504.0, 65504.0);
            const float odd = float_to_odd(x);
            return for_rounding(how.rounding, [&]<Rounding r>() -> uint64_t { return to_half<r>(odd); });
        }
        case Type::bf16: {
            if (limits) x = std::clamp(x, -0x1.fep127, 0x1.fep127);
            const float odd = float_to_odd(x);
            return for_rounding(how.rounding, [&]<Rounding r>() -> uint64_t { return to_bfloat<r>(odd); });
        }
        case Type::f32: {
            const float y = for_rounding(how.rounding, [&]<Rounding r>() {
                return how.ftz ? flushed_tiny<r>(narrowed<r>(x), x) : narrowed<r>(x);
            });
            return bits_of(canonical(y));
        }
        default:
            return bits_of(x);
    }
}

/// NaN to NaN (as an H200 does it), for a conversion that neither saturates nor makes an integer.
uint64_t nan_bits(double x, const Conversion& how) {
    if (how.from != Type::f64) {
        if (how.to != Type::f64) return how.to == Type::f32 ? kNan : kHalfNan;
        return how.ftz ? bits_of(static_cast<double>(as_float(kNan))) : bits_of(x);
    }
    switch (how.to) {
        case Type::f64:
            return bits_of(x) | 0x0008000000000000;
        case Type::f32:
            return bits_of(narrow_nan(x));
        case Type::f16:
            return (bits_of(narrow_nan(x)) >> 16 & 0x8000) | 0x7e00 | (bits_of(x) >> 42 & 0x1ff);
        default:
            return (bits_of(x) >> 48 & 0x8000) | 0x7fc0 | (bits_of(x) >> 45 & 0x3f);
    }
}

uint64_t integer_from_float(double x, const Conversion& how) {
    const uint32_t bits = 8 * ptx::size_bytes(how.to);
    if (is_nan(x)) {
        if (bits == 64) return uint64_t{1} << 63;
        return how.from == Type::f64 ? uint64_t{1} << (bits - 1) : 0;
    }
    const double integral = integral_value(x, how.integral);
    const double least = is_signed(how.to) ? -std::ldexp(1.0, static_cast<int>(bits) - 1) : 0.0;
    const double beyond = std::ldexp(1.0, static_cast<int>(bits) - is_signed(how.to));
    const uint64_t lowest = is_signed(how.to) ? uint64_t{1} << (bits - 1) : 0;
    const uint64_t highest = is_signed(how.to) ? lowest - 1 : ~uint64_t{0} >> (64 - bits);
    if (integral < least) return lowest;
    if (integral >= beyond) return highest;
    return is_signed(how.to) ? static_cast<uint64_t>(static_cast<int64_t>(integral)) : static_cast<uint64_t>(integral);
}

/// An integer as double: rounded to odd, or in the rounding of a conversion to f64.
double double_from_integer(uint64_t bits, const Conversion& how) {
    const bool negative = is_signed(how.from) && static_cast<int64_t>(bits) < 0;
    uint64_t magnitude = negative ? 0 - bits : bits;
    const int excess = 64 - 53 - std::countl_zero(magnitude);
    if (excess > 0) {
        const uint64_t unit = uint64_t{1} << excess, rest = magnitude & (unit - 1);
        const bool odd = (magnitude & unit) != 0;
        bool up = false;
        if (how.to != Type::f64)
            up = rest != 0 && !odd;
        else if (how.rounding == Rounding::nearest)
            up = rest > unit / 2 || (rest == unit / 2 && odd);
        else if (how.rounding != Rounding::zero)
            up = rest != 0 && negative == (how.rounding == Rounding::minus);
        const double truncated = static_cast<double>(magnitude >> excess) + (up ? 1.0 : 0.0);
        const double value = std::ldexp(truncated, excess);
        return negative ? -value : value;
    }
    return negative ? -static_cast<double>(magnitude) : static_cast<double>(magnitude);
}

uint64_t integer_from_integer(uint64_t bits, const Conversion& how) {
    if (!how.sat) return bits;
    const uint32_t width = 8 * ptx::size_bytes(how.to);
    const bool negative = is_signed(how.from) && static_cast<int64_t>(bits) < 0;
    const uint64_t highest = is_signed(how.to) ? (uint64_t{1} << (width - 1)) - 1 : ~uint64_t{0} >> (64 - width);
    if (!negative) return std::min(bits, highest);
    if (!is_signed(how.to)) return 0;
    const int64_t lowest = std::numeric_limits<int64_t>::min() >> (64 - width);
    return static_cast<uint64_t>(std::max(static_cast<int64_t>(bits), lowest));
}

}  // namespace

uint64_t converted(uint64_t source, const Conversion& how) {
    if (is_integer(how.from)) {
        const uint64_t value = extended(source, how.from);
        if (is_integer(how.to)) return extended(integer_from_integer(value, how), how.to);
        return float_bits(double_from_integer(value, how), how);
    }
    // A plain move, NaN and all (seen on an H200).
    const bool wide = how.from == Type::f32 || how.from == Type::f64;
    if (wide && how.from == how.to && how.integral == Integral::none && !how.ftz && !how.sat) return source;
    const double value = float_value(source, how);
    if (is_integer(how.to)) return extended(integer_from_float(value, how), how.to);
    if (is_nan(value) && !how.sat) return nan_bits(value, how);
    return float_bits(integral_value(value, how.integral), how);
}

}  // namespace recuda::vgpu
