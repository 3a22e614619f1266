// cvt between pairs of numbers and pairs of codes of 4 to 8 bits (PTX ISA 9.0, section 9.7.9.21: e4m3x2, e5m2x2,
// e2m1x2, e2m3x2, e3m2x2, ue8m0x2). A number a step: widen, convert, pack; each step is a loop that vectorises.
#include <algorithm>
#include <cstring>

#include "device/vgpu/ops/convert_packed.h"
#include "device/vgpu/ops/formats.h"
#include "device/vgpu/ops/lanes.h"

namespace recuda::vgpu {
namespace {

using ptx::Operand;
using ptx::Statement;
using ptx::Type;

template <const SmallFormat& format>
struct Code {
    static constexpr uint32_t kBits = format.exponent_bits == 2 && format.mantissa_bits == 1 ? 4 : 8;
    static uint32_t encode(float x) { return to_small<format>(x); }
    static float decode(uint32_t code) { return from_small<format>(code); }
};

/// ue8m0: the exponent of a power of two, rounded up or towards zero; no sign. NaN is 0xff, which without .satfinite is
/// also what lies above 2^127. Code 0 is 2^-127, half the smallest normal number.
template <Rounding rounding, bool satfinite>
struct Exponent {
    static constexpr uint32_t kBits = 8;
    static uint32_t encode(float x) {
        constexpr uint32_t kLimit = satfinite ? 0xfe : 0xff, kLeast = 0x00400000u;
        const uint32_t magnitude = bits_of(x) & 0x7fffffff;
        const bool between = magnitude < 0x00800000u ? magnitude > kLeast : (magnitude & 0x7fffff) != 0;
        const uint32_t exponent = (magnitude >> 23) + (rounding == Rounding::plus && between ? 1 : 0);
        return magnitude > 0x7f800000u ? 0xff : (exponent < kLimit ? exponent : kLimit);
    }
    static float decode(uint32_t code) { return as_float(code == 0xff ? kNan : code == 0 ? 0x00400000u : code << 23); }
};

/// What the numbers are beside the codes.
enum class Numbers : uint8_t { singles, halves, bfloats };

struct SmallConversion : Extra {
    Numbers numbers = Numbers::singles;
    bool relu = false;
};

float without_negative(float x) { return x <= 0.0f ? 0.0f : x; }

float widened(uint32_t half, Numbers numbers) {
    const auto bits = static_cast<uint16_t>(half);
    return numbers == Numbers::bfloats ? from_bfloat(bits) : from_half(bits);
}

/// The numbers of all lanes' upper and lower halves.
struct Pairs {
    alignas(64) float upper[kLanes];
    alignas(64) float lower[kLanes];

    void drop_negatives() {
        for (float& x : upper) x = without_negative(x);
        for (float& x : lower) x = without_negative(x);
    }
};

template <typename C>
void encode(Warp& warp, const Instruction& in, Mask active) {
    const auto& how = *static_cast<const SmallConversion*>(in.extra);
    Pairs pairs;
    if (how.numbers == Numbers::singles) {
        std::copy_n(warp.lanes<float>(in.a), kLanes, pairs.upper);
        std::copy_n(warp.lanes<float>(in.b), kLanes, pairs.lower);
    } else {
        const auto* a = warp.lanes<uint32_t>(in.a);
        for (uint32_t i = 0; i < kLanes; ++i) pairs.upper[i] = widened(a[i] >> 16, how.numbers);
        for (uint32_t i = 0; i < kLanes; ++i) pairs.lower[i] = widened(a[i], how.numbers);
    }
    if (how.relu) pairs.drop_negatives();
    alignas(64) uint32_t codes[kLanes];
    for (uint32_t i = 0; i < kLanes; ++i) codes[i] = C::encode(pairs.upper[i]) << C::kBits;
    for (uint32_t i = 0; i < kLanes; ++i) codes[i] |= C::encode(pairs.lower[i]);
    for_lanes(warp.lanes<uint16_t>(in.d), active, [&](uint32_t i) { return static_cast<uint16_t>(codes[i]); });
}

template <typename C>
void decode(Warp& warp, const Instruction& in, Mask active) {
    const auto& how = *static_cast<const SmallConversion*>(in.extra);
    constexpr uint32_t kMask = (1u << C::kBits) - 1;
    const auto* a = warp.lanes<uint16_t>(in.a);
    Pairs pairs;
    for (uint32_t i = 0; i < kLanes; ++i) pairs.upper[i] = C::decode(a[i] >> C::kBits & kMask);
    for (uint32_t i = 0; i < kLanes; ++i) pairs.lower[i] = C::decode(a[i] & kMask);
    if (how.relu) pairs.drop_negatives();
    alignas(64) uint32_t words[kLanes];
    if (how.numbers == Numbers::bfloats) {
        for (uint32_t i = 0; i < kLanes; ++i) {
            words[i] = static_cast<uint32_t>(to_bfloat(pairs.upper[i])) << 16 | to_bfloat(pairs.lower[i]);
        }
    } else {
        for (uint32_t i = 0; i < kLanes; ++i) {
            words[i] = static_cast<uint32_t>(to_half(pairs.upper[i])) << 16 | to_half(pairs.lower[i]);
        }
    }
    blend(warp.lanes<uint32_t>(in.d), words, active);
}

struct SmallType {
    std::string_view name;
    Handler encode, decode;
};

template <typename C>
constexpr SmallType small_type(std::string_view name) {
    return {name, encode<C>, decode<C>};
}

constexpr SmallType kSmallTypes[] = {small_type<Code<kE4m3>>("e4m3x2"), small_type<Code<kE5m2>>("e5m2x2"),
                                     small_type<Code<kE2m1>>("e2m1x2"), small_type<Code<kE2m3>>("e2m3x2"),
                                     small_type<Code<kE3m2>>("e3m2x2"), {"ue8m0x2", nullptr, nullptr}};

Handler exponent_handler(Modifiers& modifiers, const Statement& statement, bool encodes) {
    const bool up = modifiers.take("rp"), satfinite = modifiers.take("satfinite");
    if (!up && !modifiers.take(encodes ? "rz" : "rn")) unsupported(statement);
    if (!encodes) return decode<Exponent<Rounding::zero, true>>;
    if (satfinite) return up ? encode<Exponent<Rounding::plus, true>> : encode<Exponent<Rounding::zero, true>>;
    return up ? encode<Exponent<Rounding::plus, false>> : encode<Exponent<Rounding::zero, false>>;
}

/// Two codes are in 16 bits, or in the 8 bits of e2m1x2, whose lanes are 16 bits wide all the same.
uint32_t codes_register(Decoder& decoder, const Operand& operand) {
    const Decoder::Register found = decoder.register_of(operand);
    if (ptx::size_bytes(found.type) > 2) throw Unsupported("a register of this width for packed codes");
    return found.offset;
}

Numbers take_numbers(Modifiers& modifiers, const Statement& statement, bool encodes) {
    if (encodes && modifiers.take("f32")) return Numbers::singles;
    if (modifiers.take("f16x2")) return Numbers::halves;
    if (modifiers.take("bf16x2")) return Numbers::bfloats;
    unsupported(statement);
}

}  // namespace

bool decode_small(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    const auto named = [&](const SmallType& type) { return modifiers.take(type.name); };
    const SmallType* type = std::find_if(std::begin(kSmallTypes), std::end(kSmallTypes), named);
    if (type == std::end(kSmallTypes)) return false;
    // The destination's type stands before the source's.
    const bool encodes = statement.parts.size() >= 2 && statement.parts[statement.parts.size() - 2] == type->name;
    in.run = type->encode == nullptr ? exponent_handler(modifiers, statement, encodes)
             : encodes               ? type->encode
                                     : type->decode;
    if (type->encode != nullptr) modifiers.take("rn");
    modifiers.take("satfinite");
    auto how = std::make_unique<SmallConversion>();
    how->relu = modifiers.take("relu");
    how->numbers = take_numbers(modifiers, statement, encodes);
    const bool singles = how->numbers == Numbers::singles;
    modifiers.finish({singles ? size_t{3} : size_t{2}});
    if (encodes) {
        in.a = decoder.source(statement.operands[1], Type::b32);
        if (singles) in.b = decoder.source(statement.operands[2], Type::b32);
        in.d = codes_register(decoder, statement.operands[0]);
    } else {
        in.a = codes_register(decoder, statement.operands[1]);
        in.d = decoder.destination(statement.operands[0], Type::b32);
    }
    in.extra = decoder.keep(std::move(how));
    return true;
}

}  // namespace recuda::vgpu
