// Conversion of one number (PTX ISA 9.0, section 9.7.9.21): cvt between integers and floats. Packed forms:
// convert_packed.h.
//
// Common conversions have loops of their own that vectorise. All others go lane by lane through one exact intermediate
// value: an integer of 64 bits with its sign, or a double, which holds every float format.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "device/vgpu/decode.h"
#include "device/vgpu/ops/convert_packed.h"
#include "device/vgpu/ops/formats.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/modifiers.h"

namespace recuda::vgpu {
namespace {

using ptx::Operand;
using ptx::Statement;
using ptx::Type;

bool is_signed(Type type) { return type == Type::s8 || type == Type::s16 || type == Type::s32 || type == Type::s64; }
bool is_integer(Type type) {
    return is_signed(type) || type == Type::u8 || type == Type::u16 || type == Type::u32 || type == Type::u64;
}
bool is_float(Type type) { return type == Type::f16 || type == Type::bf16 || type == Type::f32 || type == Type::f64; }

/// Rounding of a float to an integral value.
enum class Integral : uint8_t { none, nearest, zero, minus, plus };

/// A scalar conversion as written, and the widths of the registers in bytes.
struct Conversion : Extra {
    Type from = Type::none, to = Type::none;
    Rounding rounding = Rounding::nearest;
    Integral integral = Integral::none;
    bool ftz = false, sat = false, satfinite = false, relu = false;
    uint32_t from_bytes = 0, to_bytes = 0;
};

// ── The exact way ──

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
            const float x = as_float(static_cast<uint32_t>(bits));
            return how.ftz ? flushed(x) : x;
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
            const float y = for_rounding(how.rounding, [&]<Rounding r>() { return narrowed<r>(x); });
            return bits_of(canonical(how.ftz ? flushed(y) : y));
        }
        default:
            return bits_of(x);
    }
}

/// From f64 a NaN keeps its sign and the upper digits of its payload, quiet.
float narrow_nan(double x) {
    const uint64_t bits = bits_of(x);
    return as_float(static_cast<uint32_t>(bits >> 32 & 0x80000000u) | 0x7fc00000u |
                    static_cast<uint32_t>(bits >> 29 & 0x003fffffu));
}

/// NaN to NaN, for a conversion that neither saturates nor makes an integer.
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
            return kHalfNan;
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

/// The bits of the destination for those of the source, extended to the width of the destination's register.
uint64_t converted(uint64_t source, const Conversion& how) {
    if (is_integer(how.from)) {
        const uint64_t value = extended(source, how.from);
        if (is_integer(how.to)) return extended(integer_from_integer(value, how), how.to);
        return float_bits(double_from_integer(value, how), how);
    }
    const double value = float_value(source, how);
    if (is_integer(how.to)) return extended(integer_from_float(value, how), how.to);
    if (is_nan(value) && !how.sat) return nan_bits(value, how);
    return float_bits(integral_value(value, how.integral), how);
}

void convert_any(Warp& warp, const Instruction& in, Mask active) {
    const auto& how = *static_cast<const Conversion*>(in.extra);
    const std::byte* a = warp.registers + in.a;
    std::byte* d = warp.registers + in.d;
    for (Mask rest = active; rest != 0; rest &= rest - 1) {
        const auto i = static_cast<uint32_t>(std::countr_zero(rest));
        uint64_t bits = 0;
        std::memcpy(&bits, a + size_t{i} * how.from_bytes, how.from_bytes);
        bits = converted(bits, how);
        std::memcpy(d + size_t{i} * how.to_bytes, &bits, how.to_bytes);
    }
}

// ── The quick ways ──

template <Integral how>
float integral_of(float x) {
    if constexpr (how == Integral::nearest)
        return __builtin_rintf(x);
    else if constexpr (how == Integral::zero)
        return __builtin_truncf(x);
    else if constexpr (how == Integral::minus)
        return __builtin_floorf(x);
    else
        return __builtin_ceilf(x);
}

/// The result is clamped to the type's range, NaN is 0.
template <Integral how>
int32_t signed_word(float x) {
    const float y = integral_of<how>(x);
    const bool fits = y >= -0x1p31f && y < 0x1p31f;
    const auto value = static_cast<int32_t>(fits ? y : 0.0f);
    const int32_t limit =
        y < 0 ? std::numeric_limits<int32_t>::min() : (y > 0 ? std::numeric_limits<int32_t>::max() : 0);
    return fits ? value : limit;
}
template <Integral how>
uint32_t unsigned_word(float x) {
    const float y = integral_of<how>(x);
    const bool fits = y >= 0.0f && y < 0x1p32f, upper = y >= 0x1p31f;
    const auto value = static_cast<uint32_t>(static_cast<int32_t>(fits ? (upper ? y - 0x1p31f : y) : 0.0f));
    return fits ? value ^ (upper ? 0x80000000u : 0) : (y > 0 ? ~0u : 0u);
}

/// Of lanes of S bytes the low part as N, extended to lanes of D.
template <typename S, typename N, typename D>
constexpr Handler truncating = lanes<[](S a) { return static_cast<D>(static_cast<N>(a)); }>;

template <typename S, typename N>
Handler integer_handler(uint32_t to_bytes) {
    switch (to_bytes) {
        case 2:
            return truncating<S, N, uint16_t>;
        case 4:
            return truncating<S, N, uint32_t>;
        case 8:
            return truncating<S, N, uint64_t>;
        default:
            return nullptr;
    }
}

template <typename S>
Handler integer_handler(Type narrow, uint32_t to_bytes) {
    switch (narrow) {
        case Type::s8:
            return integer_handler<S, int8_t>(to_bytes);
        case Type::u8:
            return integer_handler<S, uint8_t>(to_bytes);
        case Type::s16:
            return integer_handler<S, int16_t>(to_bytes);
        case Type::u16:
            return integer_handler<S, uint16_t>(to_bytes);
        case Type::s32:
            return integer_handler<S, int32_t>(to_bytes);
        case Type::u32:
            return integer_handler<S, uint32_t>(to_bytes);
        default:
            return integer_handler<S, uint64_t>(to_bytes);
    }
}

/// Integers without saturation: the narrower of the two types decides what is kept and how it is extended.
Handler quick_integer(const Conversion& how) {
    const bool narrows = ptx::size_bytes(how.to) <= ptx::size_bytes(how.from);
    // A register wider than a type that itself widens would need a second extension.
    if (how.sat || (!narrows && how.to_bytes > ptx::size_bytes(how.to))) return nullptr;
    const Type narrow = narrows ? how.to : how.from;
    switch (how.from_bytes) {
        case 2:
            return integer_handler<uint16_t>(narrow, how.to_bytes);
        case 4:
            return integer_handler<uint32_t>(narrow, how.to_bytes);
        default:
            return integer_handler<uint64_t>(narrow, how.to_bytes);
    }
}

Handler quick_word(Type to, Integral how) {
    const bool with_sign = to == Type::s32;
    switch (how) {
        case Integral::nearest:
            return with_sign ? lanes<signed_word<Integral::nearest>> : lanes<unsigned_word<Integral::nearest>>;
        case Integral::zero:
            return with_sign ? lanes<signed_word<Integral::zero>> : lanes<unsigned_word<Integral::zero>>;
        case Integral::minus:
            return with_sign ? lanes<signed_word<Integral::minus>> : lanes<unsigned_word<Integral::minus>>;
        default:
            return with_sign ? lanes<signed_word<Integral::plus>> : lanes<unsigned_word<Integral::plus>>;
    }
}

Handler quick_float(const Conversion& how) {
    if (how.ftz || how.sat || how.satfinite || how.relu) return nullptr;
    const bool nearest = how.rounding == Rounding::nearest;
    if (how.from == Type::f32) {
        if (how.to == Type::f16 && nearest) return lanes<to_half<Rounding::nearest>>;
        if (how.to == Type::bf16 && nearest) return lanes<to_bfloat<Rounding::nearest>>;
        if (how.to == Type::s32 || how.to == Type::u32) return quick_word(how.to, how.integral);
        return nullptr;
    }
    if (how.integral != Integral::none) return nullptr;
    if (how.to == Type::f64) {
        if (how.from == Type::s32) return lanes<[](int32_t a) { return static_cast<double>(a); }>;
        return nullptr;
    }
    if (how.to != Type::f32 || !nearest) return nullptr;
    switch (how.from) {
        case Type::f16:
            return lanes<[](uint16_t a) { return canonical(from_half(a)); }>;
        case Type::bf16:
            return lanes<[](uint16_t a) { return static_cast<uint32_t>(a) << 16; }>;
        case Type::f64:
            return lanes<[](double a) { return is_nan(a) ? narrow_nan(a) : static_cast<float>(a); }>;
        case Type::s32:
            return lanes<[](int32_t a) { return static_cast<float>(a); }>;
        case Type::u32:
            return lanes<[](uint32_t a) { return static_cast<float>(as_double(0x4330000000000000 | a) - 0x1p52); }>;
        default:
            return nullptr;
    }
}

Handler quick(const Conversion& how) {
    if (is_integer(how.from) && is_integer(how.to)) return quick_integer(how);
    const bool natural = how.from_bytes == std::max(2u, ptx::size_bytes(how.from)) &&
                         how.to_bytes == std::max(2u, ptx::size_bytes(how.to));
    return natural ? quick_float(how) : nullptr;
}

// ── Decoding ──

Integral take_integral(Modifiers& modifiers) {
    if (modifiers.take("rni")) return Integral::nearest;
    if (modifiers.take("rzi")) return Integral::zero;
    if (modifiers.take("rmi")) return Integral::minus;
    if (modifiers.take("rpi")) return Integral::plus;
    return Integral::none;
}

uint32_t lane_bytes(Type type) { return std::max(2u, ptx::size_bytes(type)); }

/// A register at least as wide as the type, or a constant of its width.
uint32_t source_of(Decoder& decoder, const Operand& operand, Type type, uint32_t& bytes) {
    bytes = lane_bytes(type);
    if (operand.kind == Operand::Kind::name) {
        std::optional<Decoder::Register> found;
        try {
            found = decoder.register_of(operand);
        } catch (const std::runtime_error&) {
            // A special register or a variable: what `source` knows.
        }
        if (found) {
            bytes = lane_bytes(found->type);
            if (ptx::size_bytes(found->type) < ptx::size_bytes(type))
                throw Unsupported("a register narrower than its type");
            return found->offset;
        }
    }
    return decoder.source(operand, type);
}

void decode_scalar(Decoder& decoder, const Statement& statement, Instruction& in, Modifiers& modifiers) {
    Conversion how;
    how.from = modifiers.type();
    how.to = modifiers.type();
    if (!(is_integer(how.from) || is_float(how.from)) || !(is_integer(how.to) || is_float(how.to)))
        unsupported(statement);
    how.integral = take_integral(modifiers);
    how.rounding = take_rounding(modifiers);
    how.ftz = modifiers.take("ftz");
    how.sat = modifiers.take("sat");
    how.satfinite = modifiers.take("satfinite");
    how.relu = modifiers.take("relu");
    modifiers.finish({2});
    if (is_float(how.from) && is_integer(how.to) && how.integral == Integral::none) unsupported(statement);
    in.a = source_of(decoder, statement.operands[1], how.from, how.from_bytes);
    const Operand& d = statement.operands[0];
    if (d.kind == Operand::Kind::sink) {
        how.to_bytes = lane_bytes(how.to);
        in.d = decoder.destination(d, how.to);
    } else {
        const Decoder::Register found = decoder.register_of(d);
        if (ptx::size_bytes(found.type) < ptx::size_bytes(how.to))
            throw Unsupported("a register narrower than its type");
        how.to_bytes = lane_bytes(found.type);
        in.d = found.offset;
    }
    in.run = quick(how);
    if (in.run != nullptr) return;
    in.run = convert_any;
    in.extra = decoder.keep(std::make_unique<Conversion>(how));
}

void decode_convert(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    in.mix = Mix::convert;
    if (statement.parts.size() < 3) unsupported(statement);
    if (decode_packed(decoder, statement, in)) return;
    decode_scalar(decoder, statement, in, modifiers);
}

constexpr OpRow kRows[] = {{"cvt", decode_convert}};

}  // namespace

std::span<const OpRow> convert_rows() { return kRows; }

}  // namespace recuda::vgpu
