// Conversion of one number (PTX ISA 9.0, section 9.7.9.21): cvt between integers and floats. Packed forms:
// convert_packed.h.
//
// Common conversions have loops of their own that vectorise. All others go lane by lane through one exact intermediate
// value (convert.h).
#include "device/vgpu/ops/convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "device/vgpu/ops/convert_packed.h"
#include "device/vgpu/ops/formats.h"
#include "device/vgpu/ops/lanes.h"

namespace recuda::vgpu {
namespace {

using ptx::Operand;
using ptx::Statement;
using ptx::Type;

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
