// cvt.rs (PTX ISA 9.0, section 9.7.9.21, sm_100a): random bits are added to the digits that a conversion cuts off, and
// a carry rounds away from zero.
//
// The layout of the random bits is the ISA's (figures 38 to 41). That the first of two numbers that share a field reads
// it from the other end is not in its text; others saw it on a B200 (public sources), and no GPU here can confirm it.
#include <algorithm>
#include <array>

#include "device/vgpu/ops/convert_packed.h"
#include "device/vgpu/ops/formats.h"
#include "device/vgpu/ops/lanes.h"

namespace recuda::vgpu {
namespace {

using ptx::Statement;
using ptx::Type;

/// A format to round to; `bits` is what one number takes in the result.
struct Format {
    std::string_view name;
    uint32_t mantissa_bits, bias, bits, random_bits;
    uint32_t largest, infinity, nan, sign;  // infinity: what an overflow gives without .satfinite
};
constexpr Format kFormats[] = {
    {"f16x2", 10, 15, 16, 13, 0x7bff, 0x7c00, 0x7fff, 0x8000},
    {"bf16x2", 7, 127, 16, 16, 0x7f7f, 0x7f80, 0x7fff, 0x8000},
    {"e4m3x4", 3, 7, 8, 16, 0x7e, 0x7e, 0x7f, 0x80},
    {"e5m2x4", 2, 15, 8, 16, 0x7b, 0x7b, 0x7f, 0x80},
    {"e2m3x4", 3, 1, 8, 16, 0x1f, 0x1f, 0x1f, 0x20},
    {"e3m2x4", 2, 3, 8, 16, 0x1f, 0x1f, 0x1f, 0x20},
    {"e2m1x4", 1, 1, 4, 16, 0x7, 0x7, 0x7, 0x8},
};

struct Stochastic : Extra {
    const Format* format = nullptr;
    bool relu = false, satfinite = false;
    std::array<uint32_t, 4> sources{};  // the first goes to the upper end of the result
    uint32_t count = 2;

    uint32_t rounded(float x, uint32_t random) const;
};

/// The code of a finite magnitude; it may lie beyond the largest.
uint32_t rounded_magnitude(uint32_t magnitude, uint32_t random, const Format& format) {
    const uint32_t exponent = std::max(1u, magnitude >> 23), fraction = magnitude & 0x7fffff;
    const uint64_t significand = magnitude >> 23 != 0 ? fraction | 0x800000 : fraction;
    const auto target = static_cast<int32_t>(exponent + format.bias) - 127;
    if (target <= 0 || magnitude >> 23 == 0) {
        const uint32_t shift = 151 - format.bias - format.mantissa_bits - exponent;
        if (shift >= 40) return 0;  // not even the largest random number makes a carry
        return static_cast<uint32_t>((significand + (uint64_t{random} << (shift - format.random_bits))) >> shift);
    }
    const uint32_t shift = 23 - format.mantissa_bits;
    return (static_cast<uint32_t>(target) << format.mantissa_bits) +
           ((fraction + (random << (shift - format.random_bits))) >> shift);
}

uint32_t Stochastic::rounded(float x, uint32_t random) const {
    const uint32_t magnitude = bits_of(x) & 0x7fffffff;
    if (magnitude > 0x7f800000u) return format->nan;
    if (relu && bits_of(x) >> 31 != 0) return 0;
    const uint32_t sign = bits_of(x) >> 31 != 0 ? format->sign : 0;
    const uint32_t code = magnitude == 0x7f800000u ? ~0u : rounded_magnitude(magnitude, random, *format);
    return sign | (code <= format->largest ? code : (satfinite ? format->largest : format->infinity));
}

uint32_t reversed_16(uint32_t x) {
    uint32_t result = 0;
    for (uint32_t i = 0; i < 16; ++i) result |= (x >> i & 1) << (15 - i);
    return result;
}

/// The random bits of each number.
std::array<uint32_t, 4> random_fields(uint32_t bits, const Format& format) {
    const uint32_t mask = (1u << format.random_bits) - 1;
    if (format.bits == 16) return {bits >> 16 & mask, bits & mask, 0, 0};
    uint32_t high = bits >> 16, low = bits & 0xffff;
    if (format.bits == 4) {  // the upper bytes of both halves, and the lower ones
        high = (bits >> 24 & 0xff) << 8 | (bits >> 8 & 0xff);
        low = (bits >> 16 & 0xff) << 8 | (bits & 0xff);
    }
    return {reversed_16(high), high, reversed_16(low), low};
}

uint32_t packed(Warp& warp, const Instruction& in, uint32_t lane) {
    const auto& how = *static_cast<const Stochastic*>(in.extra);
    const auto random = random_fields(warp.lanes<uint32_t>(in.e)[lane], *how.format);
    uint32_t result = 0;
    for (uint32_t k = 0; k < how.count; ++k)
        result = result << how.format->bits | how.rounded(warp.lanes<float>(how.sources[k])[lane], random[k]);
    return result;
}

template <typename D>
void convert(Warp& warp, const Instruction& in, Mask active) {
    for_active_lanes(warp.lanes<D>(in.d), active, [&](uint32_t i) { return static_cast<D>(packed(warp, in, i)); });
}

}  // namespace

bool decode_stochastic(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    if (!modifiers.take("rs")) return false;
    auto how = std::make_unique<Stochastic>();
    how->format = std::find_if(std::begin(kFormats), std::end(kFormats),
                               [&](const Format& format) { return modifiers.take(format.name); });
    if (how->format == std::end(kFormats) || !modifiers.take("f32")) unsupported(statement);
    how->relu = modifiers.take("relu");
    how->satfinite = modifiers.take("satfinite");
    how->count = how->format->bits == 16 ? 2 : 4;
    if (how->count == 4 && !how->satfinite) unsupported(statement);
    modifiers.finish({how->count == 2 ? size_t{4} : size_t{3}});
    const auto& operands = statement.operands;
    if (how->count == 4 && operands[1].elements.size() != 4) unsupported(statement);
    for (uint32_t k = 0; k < how->count; ++k)
        how->sources[k] = decoder.source(how->count == 2 ? operands[1 + k] : operands[1].elements[k], Type::f32);
    in.e = decoder.source(operands.back(), Type::b32);
    const bool narrow = how->format->bits == 4;
    in.d = decoder.destination(operands[0], narrow ? Type::b16 : Type::b32);
    in.run = narrow ? convert<uint16_t> : convert<uint32_t>;
    in.extra = decoder.keep(std::move(how));
    return true;
}

}  // namespace recuda::vgpu
