#include "device/vgpu/ops/convert_packed.h"

#include <algorithm>

#include "device/vgpu/ops/formats.h"
#include "device/vgpu/ops/lanes.h"

namespace recuda::vgpu {
namespace {

using ptx::Statement;
using ptx::Type;

// ── Pairs of f16 and bf16 ──

/// Two f32 to one register: a above, b below.
template <auto F>
constexpr Handler packing_halves = lanes<[](float a, float b) { return static_cast<uint32_t>(F(a)) << 16 | F(b); }>;

template <float (*prepare)(float), bool bfloat, Rounding rounding>
uint16_t prepared_half(float x) {
    if constexpr (bfloat)
        return to_bfloat<rounding>(prepare(x));
    else
        return to_half<rounding>(prepare(x));
}

float as_it_is(float x) { return x; }
float without_negatives(float x) { return x <= 0.0f ? 0.0f : x; }
float half_range(float x) { return x > 65504.0f ? 65504.0f : (x < -65504.0f ? -65504.0f : x); }
float bfloat_range(float x) { return x > 0x1.fep127f ? 0x1.fep127f : (x < -0x1.fep127f ? -0x1.fep127f : x); }
template <float (*range)(float)>
float positive_range(float x) {
    return range(without_negatives(x));
}

template <bool bfloat, float (*range)(float), Rounding rounding>
Handler pair_handler(bool relu, bool satfinite) {
    if (relu && satfinite) return packing_halves<prepared_half<positive_range<range>, bfloat, rounding>>;
    if (relu) return packing_halves<prepared_half<without_negatives, bfloat, rounding>>;
    if (satfinite) return packing_halves<prepared_half<range, bfloat, rounding>>;
    return packing_halves<prepared_half<as_it_is, bfloat, rounding>>;
}

void decode_pair_of_halves(Decoder& decoder, const Statement& statement, Instruction& in, Modifiers& modifiers,
                           bool bfloat) {
    const Rounding rounding = take_rounding(modifiers);
    const bool relu = modifiers.take("relu"), satfinite = modifiers.take("satfinite");
    modifiers.finish({3});
    if (rounding != Rounding::nearest && rounding != Rounding::zero) unsupported(statement);
    const bool nearest = rounding == Rounding::nearest;
    if (bfloat) {
        in.run = nearest ? pair_handler<true, bfloat_range, Rounding::nearest>(relu, satfinite)
                         : pair_handler<true, bfloat_range, Rounding::zero>(relu, satfinite);
    } else {
        in.run = nearest ? pair_handler<false, half_range, Rounding::nearest>(relu, satfinite)
                         : pair_handler<false, half_range, Rounding::zero>(relu, satfinite);
    }
    set_operands(decoder, statement, in, Type::b32, {Type::f32, Type::f32});
}

// ── tf32 ──

enum class ToTf32 : uint8_t { nearest_even, nearest_away, zero };

/// f32 with the last 13 digits rounded away. An H200's .rna cuts NaNs off, and its .satfinite steps back by one from
/// infinity and beyond; the other roundings have one NaN.
template <ToTf32 how, bool relu, bool satfinite>
uint32_t to_tf32(float x) {
    constexpr uint32_t kTf32Nan = 0x7fffe000u;
    if constexpr (relu) x = without_negatives(x);
    const uint32_t bits = bits_of(x), magnitude = bits & 0x7fffffff, sign = bits & 0x80000000u;
    uint32_t digits = magnitude;
    if constexpr (how == ToTf32::nearest_away) digits = magnitude <= 0x7f800000u ? magnitude + 0x1000 : magnitude;
    if constexpr (how == ToTf32::nearest_even) digits = magnitude + 0xfff + (magnitude >> 13 & 1);
    digits &= 0xffffe000u;
    if constexpr (how == ToTf32::nearest_away)
        return sign | (satfinite && digits >= 0x7f800000u ? digits - 0x2000 : digits);
    if constexpr (satfinite) digits = digits < 0x7f800000u ? digits : 0x7f7fe000u;
    return magnitude > 0x7f800000u ? kTf32Nan : sign | (magnitude == 0x7f800000u && !satfinite ? magnitude : digits);
}

template <ToTf32 how>
Handler tf32_handler(bool relu, bool satfinite) {
    if (relu) return satfinite ? lanes<to_tf32<how, true, true>> : lanes<to_tf32<how, true, false>>;
    return satfinite ? lanes<to_tf32<how, false, true>> : lanes<to_tf32<how, false, false>>;
}

void decode_tf32(Decoder& decoder, const Statement& statement, Instruction& in, Modifiers& modifiers) {
    if (!modifiers.take("f32")) unsupported(statement);
    const bool relu = modifiers.take("relu"), satfinite = modifiers.take("satfinite");
    if (modifiers.take("rna"))
        in.run = tf32_handler<ToTf32::nearest_away>(relu, satfinite);
    else if (modifiers.take("rz"))
        in.run = tf32_handler<ToTf32::zero>(relu, satfinite);
    else if (modifiers.take("rn"))
        in.run = tf32_handler<ToTf32::nearest_even>(relu, satfinite);
    else
        unsupported(statement);
    modifiers.finish({2});
    set_operands(decoder, statement, in, Type::b32, {Type::f32});
}

// ── cvt.pack ──

/// Two saturated s32 above and below, in front of the low bits of c: c moves up by two fields.
struct Pack : Extra {
    int64_t least = 0, most = 0;
    uint32_t bits = 0;
    bool has_c = false;
};

void pack(Warp& warp, const Instruction& in, Mask active) {
    const auto& how = *static_cast<const Pack*>(in.extra);
    const auto* a = warp.lanes<int32_t>(in.a);
    const auto* b = warp.lanes<int32_t>(in.b);
    const auto* c = warp.lanes<uint32_t>(in.c);
    const uint32_t mask = (1u << how.bits) - 1;
    const auto field = [&](int32_t x) {
        return static_cast<uint32_t>(std::clamp<int64_t>(x, how.least, how.most)) & mask;
    };
    for_active_lanes(warp.lanes<uint32_t>(in.d), active, [&](uint32_t i) {
        const uint32_t both = field(a[i]) << how.bits | field(b[i]);
        return how.has_c ? c[i] << (2 * how.bits) | both : both;
    });
}

void decode_pack(Decoder& decoder, const Statement& statement, Instruction& in) {
    struct Field {
        std::string_view name;
        int64_t least, most;
        uint32_t bits;
        bool has_c;
    };
    constexpr Field kFields[] = {{"s16", -32768, 32767, 16, false},
                                 {"u16", 0, 65535, 16, false},
                                 {"s8", -128, 127, 8, true},
                                 {"u8", 0, 255, 8, true},
                                 {"s4", -8, 7, 4, true},
                                 {"u4", 0, 15, 4, true},
                                 {"s2", -2, 1, 2, true},
                                 {"u2", 0, 3, 2, true}};
    Modifiers modifiers(statement);
    modifiers.take("pack");
    if (!modifiers.take("sat") || !modifiers.take("s32")) unsupported(statement);
    auto how = std::make_unique<Pack>();
    for (const Field& field : kFields) {
        if (!modifiers.take(field.name)) continue;
        how->least = field.least;
        how->most = field.most;
        how->bits = field.bits;
        how->has_c = field.has_c && modifiers.take("b32");
    }
    if (how->bits == 0) unsupported(statement);
    modifiers.finish({how->has_c ? size_t{4} : size_t{3}});
    in.mix = Mix::convert;
    in.run = pack;
    if (how->has_c)
        set_operands(decoder, statement, in, Type::b32, {Type::s32, Type::s32, Type::b32});
    else
        set_operands(decoder, statement, in, Type::b32, {Type::s32, Type::s32});
    if (!how->has_c) in.c = in.a;
    in.extra = decoder.keep(std::move(how));
}

}  // namespace

bool decode_packed(Decoder& decoder, const Statement& statement, Instruction& in) {
    if (decode_stochastic(decoder, statement, in) || decode_small(decoder, statement, in)) return true;
    if (statement.has("pack")) {
        decode_pack(decoder, statement, in);
        return true;
    }
    Modifiers modifiers(statement);
    if (modifiers.take("tf32")) {
        decode_tf32(decoder, statement, in, modifiers);
        return true;
    }
    const bool bfloat = modifiers.take("bf16x2");
    if (!bfloat && !modifiers.take("f16x2")) return false;
    if (!modifiers.take("f32")) unsupported(statement);
    decode_pair_of_halves(decoder, statement, in, modifiers, bfloat);
    return true;
}

}  // namespace recuda::vgpu
