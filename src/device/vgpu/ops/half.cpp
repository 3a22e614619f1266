// f16 and bf16 arithmetic, one number or two in a register (PTX ISA 9.0, sections 9.7.4 and 9.7.3 for ex2 and tanh).
//
// A pair's register is 64 numbers of 16 bits in a row, so one function of a number serves both forms. Sums are exact enough in
// f32: 24 digits are at least 2p + 2, which makes the second rounding harmless, except where bf16 underflows; products of bf16 and
// fused sums go through double, rounded to odd.
#include <cmath>

#include "device/vgpu/decode.h"
#include "device/vgpu/ops/formats.h"
#include "device/vgpu/ops/functions.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/modifiers.h"

namespace recuda::vgpu {
namespace {

using ptx::Statement;
using ptx::Type;

struct Half {
    static constexpr uint16_t kExponent = 0x7c00, kOne = 0x3c00;
    static float widen(uint16_t x) { return from_half(x); }
    static uint16_t narrow(float x) { return to_half(x); }
};
struct Bfloat {
    static constexpr uint16_t kExponent = 0x7f80, kOne = 0x3f80;
    static float widen(uint16_t x) { return from_bfloat(x); }
    static uint16_t narrow(float x) { return to_bfloat(x); }
};

/// What may happen to the result.
enum class Clamp : uint8_t { none, sat, relu };

template <typename Format, bool ftz>
uint16_t flushed_half(uint16_t x) {
    return ftz && (x & Format::kExponent) == 0 ? static_cast<uint16_t>(x & 0x8000) : x;
}
template <typename Format, bool ftz>
float widened(uint16_t x) {
    return Format::widen(flushed_half<Format, ftz>(x));
}
template <typename Format, bool ftz, Clamp clamp>
uint16_t narrowed_half(float x) {
    if constexpr (clamp == Clamp::sat) x = saturated(x);
    if constexpr (clamp == Clamp::relu) x = x <= 0.0f ? 0.0f : x;
    return flushed_half<Format, ftz>(Format::narrow(x));
}

struct AddHalf {
    static float apply(float a, float b) { return a + b; }
};
struct SubtractHalf {
    static float apply(float a, float b) { return a - b; }
};
struct MultiplyHalf {
    static float apply(float a, float b) { return float_to_odd(static_cast<double>(a) * b); }
};
struct FusedHalf {
    static float apply(float a, float b, float c) { return float_to_odd(sum_to_odd(static_cast<double>(a) * b, c)); }
};
template <bool maximum, bool keeps_nan, bool magnitudes>
struct ExtremeHalf {
    static float apply(float a, float b) {
        return magnitudes ? extreme_of_magnitudes<maximum, keeps_nan>(a, b) : extreme<maximum, keeps_nan>(a, b);
    }
    static float apply(float a, float b, float c) { return apply(apply(a, b), c); }
};

// ── Handlers ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/// Applies F to the 64 numbers of packed registers.
template <auto F, int sources>
void pairs(Warp& warp, const Instruction& in, Mask active) {
    const auto* a = warp.lanes<uint16_t>(in.a);
    const auto* b = sources > 1 ? warp.lanes<uint16_t>(in.b) : a;
    const auto* c = sources > 2 ? warp.lanes<uint16_t>(in.c) : a;
    const auto one = [&](uint32_t i) -> uint16_t {
        if constexpr (sources == 1) return F(a[i]);
        else if constexpr (sources == 2) return F(a[i], b[i]);
        else return F(a[i], b[i], c[i]);
    };
    if (active == kFullMask) {
        auto* d = warp.lanes<uint16_t>(in.d);
#pragma GCC ivdep
        for (uint32_t i = 0; i < 2 * kLanes; ++i) d[i] = one(i);
        return;
    }
    alignas(64) uint16_t result[2 * kLanes];
    for (uint32_t i = 0; i < 2 * kLanes; ++i) result[i] = one(i);
    alignas(64) uint32_t words[kLanes];
    __builtin_memcpy(words, result, sizeof(words));
    blend(warp.lanes<uint32_t>(in.d), words, active);
}

template <auto F, int sources>
Handler one_or_two(bool packed) {
    return packed ? pairs<F, sources> : lanes<F>;
}

template <typename Operation, typename Format, int sources, bool ftz, Clamp clamp>
Handler half_handler(bool packed) {
    if constexpr (sources == 2) {
        return one_or_two<[](uint16_t a, uint16_t b) {
            return narrowed_half<Format, ftz, clamp>(Operation::apply(widened<Format, ftz>(a), widened<Format, ftz>(b)));
        }, 2>(packed);
    } else {
        return one_or_two<[](uint16_t a, uint16_t b, uint16_t c) {
            return narrowed_half<Format, ftz, clamp>(
                Operation::apply(widened<Format, ftz>(a), widened<Format, ftz>(b), widened<Format, ftz>(c)));
        }, 3>(packed);
    }
}

template <typename Operation, typename Format, int sources, Clamp clamp>
Handler half_handler(bool packed, bool ftz) {
    return ftz ? half_handler<Operation, Format, sources, true, clamp>(packed) : half_handler<Operation, Format, sources, false, clamp>(packed);
}

struct HalfType {
    bool is_half;  // f16, not bf16
    bool packed;
    Type storage;
};

HalfType half_type(Type type) {
    switch (type) {
        case Type::f16: return {true, false, Type::b16};
        case Type::f16x2: return {true, true, Type::b32};
        case Type::bf16: return {false, false, Type::b16};
        case Type::bf16x2: return {false, true, Type::b32};
        default: not_mine();
    }
}

void set_same(Decoder& decoder, const Statement& statement, Instruction& in, Type type, size_t sources) {
    if (sources == 1) set_operands(decoder, statement, in, type, {type});
    else if (sources == 2) set_operands(decoder, statement, in, type, {type, type});
    else set_operands(decoder, statement, in, type, {type, type, type});
}

// ── Decoding ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

template <typename Operation, int sources>
void decode_arithmetic(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    in.mix = sources == 3 ? Mix::fma : Mix::half;
    const HalfType type = half_type(modifiers.type());
    modifiers.take("rn");
    const bool ftz = type.is_half && modifiers.take("ftz"), sat = type.is_half && modifiers.take("sat");
    const bool relu = sources == 3 && modifiers.take("relu");
    modifiers.finish({sources + 1});
    if (sat && relu) unsupported(statement);
    if (!type.is_half) {
        in.run = relu ? half_handler<Operation, Bfloat, sources, false, Clamp::relu>(type.packed)
                      : half_handler<Operation, Bfloat, sources, false, Clamp::none>(type.packed);
    } else if (sat) {
        in.run = half_handler<Operation, Half, sources, Clamp::sat>(type.packed, ftz);
    } else if (relu) {
        in.run = half_handler<Operation, Half, sources, Clamp::relu>(type.packed, ftz);
    } else {
        in.run = half_handler<Operation, Half, sources, Clamp::none>(type.packed, ftz);
    }
    set_same(decoder, statement, in, type.storage, sources);
}

/// Three-operand forms take the extreme of all.
template <typename Operation>
Handler extreme_handler(const HalfType& type, bool ftz, bool three) {
    if (three) {
        return type.is_half ? half_handler<Operation, Half, 3, Clamp::none>(type.packed, ftz)
                            : half_handler<Operation, Bfloat, 3, Clamp::none>(type.packed, ftz);
    }
    return type.is_half ? half_handler<Operation, Half, 2, Clamp::none>(type.packed, ftz)
                        : half_handler<Operation, Bfloat, 2, Clamp::none>(type.packed, ftz);
}

template <bool maximum>
void decode_extreme(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    in.mix = Mix::half;
    const HalfType type = half_type(modifiers.type());
    const bool ftz = type.is_half && modifiers.take("ftz"), keeps_nan = modifiers.take("NaN");
    const bool magnitudes = modifiers.take("xorsign") && modifiers.take("abs");
    const bool three = statement.operands.size() == 4;
    modifiers.finish({3, 4});
    if (keeps_nan) {
        in.run = magnitudes ? extreme_handler<ExtremeHalf<maximum, true, true>>(type, ftz, three)
                            : extreme_handler<ExtremeHalf<maximum, true, false>>(type, ftz, three);
    } else {
        in.run = magnitudes ? extreme_handler<ExtremeHalf<maximum, false, true>>(type, ftz, three)
                            : extreme_handler<ExtremeHalf<maximum, false, false>>(type, ftz, three);
    }
    set_same(decoder, statement, in, type.storage, three ? 3 : 2);
}

/// A NaN becomes the canonical one.
template <typename Format, bool negates, bool ftz>
uint16_t with_sign(uint16_t x) {
    const uint16_t value = flushed_half<Format, ftz>(negates ? x ^ 0x8000 : x & 0x7fff);
    return (value & 0x7fff) > Format::kExponent ? kHalfNan : value;
}

template <typename Format, bool negates>
Handler sign_handler(bool packed, bool ftz) {
    return ftz ? one_or_two<with_sign<Format, negates, true>, 1>(packed) : one_or_two<with_sign<Format, negates, false>, 1>(packed);
}

void decode_sign(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    in.mix = Mix::half;
    const HalfType type = half_type(modifiers.type());
    const bool ftz = type.is_half && modifiers.take("ftz"), negates = statement.opcode() == "neg";
    modifiers.finish({2});
    if (type.is_half) in.run = negates ? sign_handler<Half, true>(type.packed, ftz) : sign_handler<Half, false>(type.packed, ftz);
    else in.run = negates ? sign_handler<Bfloat, true>(type.packed, false) : sign_handler<Bfloat, false>(type.packed, false);
    set_same(decoder, statement, in, type.storage, 1);
}

template <typename Format, float (*function)(float), bool ftz>
uint16_t applied(uint16_t x) {
    return narrowed_half<Format, ftz, Clamp::none>(function(widened<Format, ftz>(x)));
}

template <float (*function)(float)>
void decode_function(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    in.mix = Mix::special;
    const HalfType type = half_type(modifiers.type());
    if (!modifiers.take("approx")) unsupported(statement);
    const bool ftz = modifiers.take("ftz");
    modifiers.finish({2});
    if (type.is_half) {
        in.run = ftz ? one_or_two<applied<Half, function, true>, 1>(type.packed) : one_or_two<applied<Half, function, false>, 1>(type.packed);
    } else {
        in.run = ftz ? one_or_two<applied<Bfloat, function, true>, 1>(type.packed) : one_or_two<applied<Bfloat, function, false>, 1>(type.packed);
    }
    set_same(decoder, statement, in, type.storage, 1);
}

constexpr OpRow kRows[] = {
    {"add", decode_arithmetic<AddHalf, 2>}, {"sub", decode_arithmetic<SubtractHalf, 2>}, {"mul", decode_arithmetic<MultiplyHalf, 2>},
    {"fma", decode_arithmetic<FusedHalf, 3>}, {"min", decode_extreme<false>}, {"max", decode_extreme<true>},
    {"neg", decode_sign}, {"abs", decode_sign}, {"ex2", decode_function<exp2_of>}, {"tanh", decode_function<tanh_of>},
};

}  // namespace

std::span<const OpRow> half_rows() { return kRows; }

}  // namespace recuda::vgpu
