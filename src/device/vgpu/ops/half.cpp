// f16 and bf16 arithmetic, one number or two in a register (PTX ISA 9.0, sections 9.7.4 and 9.7.3 for ex2 and tanh).
//
// A pair's register is 64 numbers of 16 bits in a row, so one function of a number serves both forms. Sums are exact
// enough in f32: 24 digits are at least 2p + 2, which makes the second rounding harmless, except where bf16 underflows;
// products of bf16 and fused sums go through double, rounded to odd.
#include <cmath>
#include <cstring>

#include "device/vgpu/decode.h"
#include "device/vgpu/ops/formats.h"
#include "device/vgpu/ops/functions.h"
#include "device/vgpu/ops/half_oob.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/modifiers.h"

namespace recuda::vgpu {
namespace {

using ptx::Statement;
using ptx::Type;

struct Half {
    static constexpr uint16_t kExponent = 0x7c00;
    static constexpr float kTiny = 0x1.ffep-15f;  // what is below is flushed (formats.h)
    static float widen(uint16_t x) { return from_half(x); }
    static uint16_t narrow(float x) { return to_half(x); }
};
struct Bfloat {
    static constexpr uint16_t kExponent = 0x7f80;
    static constexpr float kTiny = 0x1.ffp-127f;
    static float widen(uint16_t x) { return from_bfloat(x); }
    static uint16_t narrow(float x) { return to_bfloat(x); }
};

/// What may happen to the result.
enum class Clamp : uint8_t { none, sat, relu };

template <typename Format, bool ftz>
uint16_t flushed_half(uint16_t x) {
    return ftz && (x & Format::kExponent) == 0 ? static_cast<uint16_t>(x & 0x8000) : x;
}

template <Clamp clamp>
float clamped(float x) {
    if constexpr (clamp == Clamp::sat)
        return saturated(x);
    else if constexpr (clamp == Clamp::relu)
        return x <= 0.0f ? 0.0f : x;
    else
        return x;
}

// ── Operations on N widened numbers ──

/// One step of a handler. Each is a loop of its own: in one loop the conditions of widening and narrowing would become
/// branches, and nothing would vectorise (measured for add.f16x2: 790 ns a warp against 30 ns).
template <uint32_t count, typename T, typename F>
[[gnu::always_inline]] inline void step(T* result, F function) {
#pragma GCC ivdep
    for (uint32_t i = 0; i < count; ++i) result[i] = function(i);
}

struct AddHalf {
    template <uint32_t count>
    static void apply(float* d, const float* a, const float* b, const float*) {
        step<count>(d, [&](uint32_t i) { return a[i] + b[i]; });
    }
};
struct SubtractHalf {
    template <uint32_t count>
    static void apply(float* d, const float* a, const float* b, const float*) {
        step<count>(d, [&](uint32_t i) { return a[i] - b[i]; });
    }
};
struct MultiplyHalf {
    template <uint32_t count>
    static void apply(float* d, const float* a, const float* b, const float*) {
        step<count>(d, [&](uint32_t i) { return float_to_odd(static_cast<double>(a[i]) * b[i]); });
    }
};
struct FusedHalf {
    template <uint32_t count>
    static void apply(float* d, const float* a, const float* b, const float* c) {
        alignas(64) double sum[count];
        step<count>(sum, [&](uint32_t i) { return sum_to_odd(static_cast<double>(a[i]) * b[i], c[i]); });
        step<count>(d, [&](uint32_t i) { return float_to_odd(sum[i]); });
    }
};
template <bool maximum, bool keeps_nan, bool magnitudes>
struct ExtremeHalf {
    template <uint32_t count>
    static void apply(float* d, const float* a, const float* b, const float* c) {
        const auto two = [](float x, float y) {
            return magnitudes ? extreme_of_magnitudes<maximum, keeps_nan>(x, y) : extreme<maximum, keeps_nan>(x, y);
        };
        step<count>(d, [&](uint32_t i) { return two(a[i], b[i]); });
        if (c != nullptr) step<count>(d, [&](uint32_t i) { return two(d[i], c[i]); });
    }
};
template <float (*function)(float)>
struct FunctionOfHalf {
    template <uint32_t count>
    static void apply(float* d, const float* a, const float*, const float*) {
        step<count>(d, [&](uint32_t i) { return function(a[i]); });
    }
};

// ── Handlers ──

template <typename Format, bool ftz, uint32_t count>
void widen(float* wide, const uint16_t* narrow) {
    step<count>(wide, [&](uint32_t i) { return Format::widen(flushed_half<Format, ftz>(narrow[i])); });
}

/// Stores 64 numbers as the active lanes' pairs, or 32 as numbers.
template <uint32_t count>
void store(Warp& warp, uint32_t offset, const uint16_t* result, Mask active) {
    if constexpr (count == kLanes) {
        blend(warp.lanes<uint16_t>(offset), result, active);
    } else {
        alignas(64) uint32_t words[kLanes];
        std::memcpy(words, result, sizeof(words));
        blend(warp.lanes<uint32_t>(offset), words, active);
    }
}

template <typename Operation, typename Format, int sources, bool ftz, Clamp clamp, uint32_t count>
void operate(Warp& warp, const Instruction& in, Mask active) {
    alignas(64) float a[count], b[count], c[count], d[count];
    alignas(64) uint16_t result[count];
    widen<Format, ftz, count>(a, warp.lanes<uint16_t>(in.a));
    if constexpr (sources > 1) widen<Format, ftz, count>(b, warp.lanes<uint16_t>(in.b));
    if constexpr (sources > 2) widen<Format, ftz, count>(c, warp.lanes<uint16_t>(in.c));
    Operation::template apply<count>(d, a, b, sources > 2 ? c : nullptr);
    step<count>(result, [&](uint32_t i) { return Format::narrow(clamped<clamp>(d[i])); });
    if constexpr (ftz) {
        step<count>(result, [&](uint32_t i) {
            return static_cast<uint16_t>(std::fabs(d[i]) < Format::kTiny ? result[i] & 0x8000 : result[i]);
        });
    }
    store<count>(warp, in.d, result, active);
}

template <typename Operation, typename Format, int sources, Clamp clamp>
Handler half_handler(bool packed, bool ftz) {
    if (packed) {
        return ftz ? operate<Operation, Format, sources, true, clamp, 2 * kLanes>
                   : operate<Operation, Format, sources, false, clamp, 2 * kLanes>;
    }
    return ftz ? operate<Operation, Format, sources, true, clamp, kLanes>
               : operate<Operation, Format, sources, false, clamp, kLanes>;
}

struct HalfType {
    bool is_half;  // f16, not bf16
    bool packed;
    Type storage;
};

HalfType half_type(Type type) {
    switch (type) {
        case Type::f16:
            return {true, false, Type::b16};
        case Type::f16x2:
            return {true, true, Type::b32};
        case Type::bf16:
            return {false, false, Type::b16};
        case Type::bf16x2:
            return {false, true, Type::b32};
        default:
            not_mine();
    }
}

void set_same(Decoder& decoder, const Statement& statement, Instruction& in, Type type, size_t sources) {
    if (sources == 1)
        set_operands(decoder, statement, in, type, {type});
    else if (sources == 2)
        set_operands(decoder, statement, in, type, {type, type});
    else
        set_operands(decoder, statement, in, type, {type, type, type});
}

// ── Decoding ──

template <typename Operation, int sources>
void decode_arithmetic(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    in.mix = sources == 3 ? Mix::fma : Mix::half;
    const HalfType type = half_type(modifiers.type());
    modifiers.take("rn");
    const bool ftz = type.is_half && modifiers.take("ftz"), sat = type.is_half && modifiers.take("sat");
    const bool relu = sources == 3 && modifiers.take("relu"), oob = sources == 3 && modifiers.take("oob");
    modifiers.finish({sources + 1});
    if (sat && relu) unsupported(statement);
    if (!type.is_half) {
        in.run = relu ? half_handler<Operation, Bfloat, sources, Clamp::relu>(type.packed, false)
                      : half_handler<Operation, Bfloat, sources, Clamp::none>(type.packed, false);
    } else if (sat) {
        in.run = half_handler<Operation, Half, sources, Clamp::sat>(type.packed, ftz);
    } else if (relu) {
        in.run = half_handler<Operation, Half, sources, Clamp::relu>(type.packed, ftz);
    } else {
        in.run = half_handler<Operation, Half, sources, Clamp::none>(type.packed, ftz);
    }
    set_same(decoder, statement, in, type.storage, sources);
    if (oob) guard_out_of_bounds(decoder, in, type.packed);
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

template <typename Format, bool negates, bool ftz, uint32_t count>
void change_sign(Warp& warp, const Instruction& in, Mask active) {
    const auto* a = warp.lanes<uint16_t>(in.a);
    alignas(64) uint16_t result[count];
    step<count>(result, [&](uint32_t i) { return with_sign<Format, negates, ftz>(a[i]); });
    store<count>(warp, in.d, result, active);
}

template <typename Format, bool negates>
Handler sign_handler(bool packed, bool ftz) {
    if (packed)
        return ftz ? change_sign<Format, negates, true, 2 * kLanes> : change_sign<Format, negates, false, 2 * kLanes>;
    return ftz ? change_sign<Format, negates, true, kLanes> : change_sign<Format, negates, false, kLanes>;
}

void decode_sign(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    in.mix = Mix::half;
    const HalfType type = half_type(modifiers.type());
    const bool ftz = type.is_half && modifiers.take("ftz"), negates = statement.opcode() == "neg";
    modifiers.finish({2});
    if (type.is_half)
        in.run = negates ? sign_handler<Half, true>(type.packed, ftz) : sign_handler<Half, false>(type.packed, ftz);
    else
        in.run =
            negates ? sign_handler<Bfloat, true>(type.packed, false) : sign_handler<Bfloat, false>(type.packed, false);
    set_same(decoder, statement, in, type.storage, 1);
}

template <float (*function)(float)>
void decode_function(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    in.mix = Mix::special;
    const HalfType type = half_type(modifiers.type());
    if (!modifiers.take("approx")) unsupported(statement);
    const bool ftz = modifiers.take("ftz");
    modifiers.finish({2});
    in.run = type.is_half ? half_handler<FunctionOfHalf<function>, Half, 1, Clamp::none>(type.packed, ftz)
                          : half_handler<FunctionOfHalf<function>, Bfloat, 1, Clamp::none>(type.packed, ftz);
    set_same(decoder, statement, in, type.storage, 1);
}

constexpr OpRow kRows[] = {
    {"add", decode_arithmetic<AddHalf, 2>},
    {"sub", decode_arithmetic<SubtractHalf, 2>},
    {"mul", decode_arithmetic<MultiplyHalf, 2>},
    {"fma", decode_arithmetic<FusedHalf, 3>},
    {"min", decode_extreme<false>},
    {"max", decode_extreme<true>},
    {"neg", decode_sign},
    {"abs", decode_sign},
    {"ex2", decode_function<exp2_of>},
    {"tanh", decode_function<tanh_of>},
};

}  // namespace

std::span<const OpRow> half_rows() { return kRows; }

}  // namespace recuda::vgpu
