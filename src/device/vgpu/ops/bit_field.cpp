// Permuted bytes, fields, masks and counts of bits (PTX ISA 9.0, sections 9.7.1.11 to 21 and 9.7.8.7).
#include <bit>
#include <type_traits>

#include "device/vgpu/ops/bit.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/modifiers.h"
#include "device/vgpu/ops/shift.h"

namespace recuda::vgpu {
namespace {

using ptx::Statement;
using ptx::Type;

// ── prmt ──

/// Byte `selector & 7` of b:a, or its sign spread over the byte where bit 3 is set.
uint32_t selected_byte(uint64_t bytes, uint32_t selector) {
    const auto byte = static_cast<uint32_t>(bytes >> (8 * (selector & 7))) & 0xff;
    const uint32_t sign = (byte >> 7) * 0xff;
    return (selector & 8) != 0 ? sign : byte;
}

uint32_t permuted(uint32_t a, uint32_t b, uint32_t selectors) {
    const uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
    uint32_t result = 0;
    for (uint32_t k = 0; k < 4; ++k) result |= selected_byte(bytes, selectors >> (4 * k) & 0xf) << (8 * k);
    return result;
}

/// The four selectors of a special mode for the low two bits of c, one a hexadecimal digit (table of section 9.7.8.7).
constexpr uint16_t kForward[4] = {0x3210, 0x4321, 0x5432, 0x6543};
constexpr uint16_t kBackward[4] = {0x5670, 0x6701, 0x7012, 0x0123};
constexpr uint16_t kReplicate8[4] = {0x0000, 0x1111, 0x2222, 0x3333};
constexpr uint16_t kEdgeLeft[4] = {0x3210, 0x3211, 0x3222, 0x3333};
constexpr uint16_t kEdgeRight[4] = {0x0000, 0x1110, 0x2210, 0x3210};
constexpr uint16_t kReplicate16[4] = {0x1010, 0x3232, 0x1010, 0x3232};

template <const uint16_t (&modes)[4]>
uint32_t permuted_by_mode(uint32_t a, uint32_t b, uint32_t c) {
    return permuted(a, b, modes[c & 3]);
}

/// Selectors that are constants without sign bits: every byte is a shift and a mask, the same in all lanes.
void permute_constant(Warp& warp, const Instruction& in, Mask active) {
    const auto* a = warp.lanes<uint32_t>(in.a);
    const auto* b = warp.lanes<uint32_t>(in.b);
    uint32_t from_a[4], from_b[4], shift[4];
    for (uint32_t k = 0; k < 4; ++k) {
        const auto selector = static_cast<uint32_t>(in.immediate >> (4 * k));
        shift[k] = 8 * (selector & 3);
        from_a[k] = (selector & 4) == 0 ? 0xff : 0;
        from_b[k] = 0xff - from_a[k];
    }
    for_lanes(warp.lanes<uint32_t>(in.d), active, [&](uint32_t i) {
        uint32_t result = 0;
        for (uint32_t k = 0; k < 4; ++k)
            result |= ((a[i] >> shift[k] & from_a[k]) | (b[i] >> shift[k] & from_b[k])) << (8 * k);
        return result;
    });
}

uint32_t low_halves(uint32_t a, uint32_t b) { return (a & 0xffff) | b << 16; }
uint32_t high_halves(uint32_t a, uint32_t b) { return a >> 16 | (b & 0xffff0000u); }
uint32_t middle_halves(uint32_t a, uint32_t b) { return a >> 16 | b << 16; }

Handler permute_by(uint32_t selectors) {
    if (selectors == 0x5410) return lanes<low_halves>;
    if (selectors == 0x7632) return lanes<high_halves>;
    if (selectors == 0x5432) return lanes<middle_halves>;
    return (selectors & 0x8888) == 0 ? permute_constant : lanes<permuted>;
}

void decode_permute(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    if (modifiers.type() != Type::b32) unsupported(statement);
    set_operands(decoder, statement, in, Type::b32, {Type::b32, Type::b32, Type::b32});
    const ptx::Operand& c = statement.operands[3];
    if (modifiers.take("f4e"))
        in.run = lanes<permuted_by_mode<kForward>>;
    else if (modifiers.take("b4e"))
        in.run = lanes<permuted_by_mode<kBackward>>;
    else if (modifiers.take("rc8"))
        in.run = lanes<permuted_by_mode<kReplicate8>>;
    else if (modifiers.take("ecl"))
        in.run = lanes<permuted_by_mode<kEdgeLeft>>;
    else if (modifiers.take("ecr"))
        in.run = lanes<permuted_by_mode<kEdgeRight>>;
    else if (modifiers.take("rc16"))
        in.run = lanes<permuted_by_mode<kReplicate16>>;
    else if (c.kind == ptx::Operand::Kind::integer)
        in.run = permute_by(static_cast<uint32_t>(c.bits) & 0xffff);
    else
        in.run = lanes<permuted>;
    modifiers.finish({4});
    in.immediate = static_cast<int64_t>(c.bits & 0xffff);
}

// ── bfe, bfi, bmsk, szext, bfind, fns, brev, popc, clz ──

/// The PTX ISA leaves positions and lengths above 255 open. An H200 takes the low 8 bits of those of a 32-bit word; for
/// 64 bits, which it does in several instructions, they are as large as they are.
template <typename T>
uint32_t limited(uint32_t x) {
    return sizeof(T) == 4 ? x & 0xff : (x < 0xff ? x : 0xff);
}

/// What lies beyond the word is the sign, or 0 of an unsigned type.
template <typename T>
T extracted(T a, uint32_t position, uint32_t length) {
    using U = std::make_unsigned_t<T>;
    constexpr uint32_t kBits = 8 * sizeof(T);
    position = limited<T>(position);
    length = limited<T>(length);
    if (length == 0) return 0;
    const T shifted = shifted_right<T>(a, position);
    if (length >= kBits) return shifted;
    if constexpr (!std::is_signed_v<T>) return shifted & static_cast<T>((U{1} << length) - 1);
    // The sign is the field's top bit, or the word's where the field runs past it.
    const uint32_t top = position + length - 1 < kBits ? position + length - 1 : kBits - 1;
    const U field = static_cast<U>(shifted) & ((U{1} << length) - 1);
    const U ones = ~((U{1} << length) - 1);
    const bool negative = (static_cast<U>(a) >> top & 1) != 0;
    return static_cast<T>(negative ? field | ones : field);
}

template <typename T>
T inserted(T a, T b, uint32_t position, uint32_t length) {
    constexpr uint32_t kBits = 8 * sizeof(T);
    position = limited<T>(position);
    length = limited<T>(length);
    const T ones = length < kBits ? static_cast<T>((T{1} << (length & (kBits - 1))) - 1) : static_cast<T>(~T{0});
    const T mask = shifted_left(ones, position);
    return (shifted_left(a, position) & mask) | (b & ~mask);
}

template <bool wraps>
uint32_t bit_mask(uint32_t position, uint32_t length) {
    position = wraps ? position & 31 : position;
    length = wraps ? length & 31 : length;
    const uint32_t ones = length < 32 ? (1u << (length & 31)) - 1 : ~0u;
    return shifted_left(ones, position);
}

template <typename T, bool wraps>
T sign_or_zero_extended(T a, uint32_t bits) {
    if (wraps) bits &= 31;
    if (bits >= 32) return a;
    if (bits == 0) return 0;
    const uint32_t shift = 32 - bits;
    return static_cast<T>(static_cast<T>(static_cast<uint32_t>(a) << shift) >> shift);
}

/// The position of the highest bit that differs from the sign, or its distance from the top; all ones where there is
/// none.
template <typename T, bool distance>
uint32_t highest_bit(T a) {
    using U = std::make_unsigned_t<T>;
    const U bits = static_cast<U>(a < 0 ? ~a : a);
    if (bits == 0) return ~0u;
    const auto above = static_cast<uint32_t>(std::countl_zero(bits));
    return distance ? above : 8 * sizeof(T) - 1 - above;
}

/// The n-th set bit from `base` upwards (offset > 0) or downwards (< 0); with offset 0 `base` itself if set.
uint32_t nth_set_bit(uint32_t mask, uint32_t base, uint32_t offset_bits) {
    if (offset_bits == 0x80000000u) return 0;  // seen on an H200; its magnitude is no s32
    const auto offset = static_cast<int32_t>(offset_bits);
    if (base > 31) return ~0u;
    if (offset == 0) return (mask >> base & 1) != 0 ? base : ~0u;
    const int32_t step = offset > 0 ? 1 : -1;
    int64_t left = offset > 0 ? offset : -int64_t{offset};
    for (auto at = static_cast<int32_t>(base); at >= 0 && at < 32; at += step) {
        if ((mask >> at & 1) != 0 && --left == 0) return static_cast<uint32_t>(at);
    }
    return ~0u;
}

template <typename T>
T reversed(T a) {
    T result = 0;
    for (uint32_t i = 0; i < 8 * sizeof(T); ++i) result |= (a >> i & 1) << (8 * sizeof(T) - 1 - i);
    return result;
}

void decode_extract(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    const Type type = modifiers.type();
    modifiers.finish({4});
    switch (type) {
        case Type::u32:
            in.run = lanes<extracted<uint32_t>>;
            break;
        case Type::s32:
            in.run = lanes<extracted<int32_t>>;
            break;
        case Type::u64:
            in.run = lanes<extracted<uint64_t>>;
            break;
        case Type::s64:
            in.run = lanes<extracted<int64_t>>;
            break;
        default:
            unsupported(statement);
    }
    set_operands(decoder, statement, in, type, {type, Type::u32, Type::u32});
}

void decode_insert(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    const Type type = modifiers.type();
    modifiers.finish({5});
    if (type == Type::b32)
        in.run = lanes<inserted<uint32_t>>;
    else if (type == Type::b64)
        in.run = lanes<inserted<uint64_t>>;
    else
        unsupported(statement);
    set_operands(decoder, statement, in, type, {type, type, Type::u32, Type::u32});
}

void decode_mask(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    const bool wraps = modifiers.take("wrap");
    if (!wraps && !modifiers.take("clamp")) unsupported(statement);
    const Type type = modifiers.type();
    modifiers.finish({3});
    if (statement.opcode() == "bmsk") {
        if (type != Type::b32) unsupported(statement);
        in.run = wraps ? lanes<bit_mask<true>> : lanes<bit_mask<false>>;
    } else if (type == Type::u32) {
        in.run = wraps ? lanes<sign_or_zero_extended<uint32_t, true>> : lanes<sign_or_zero_extended<uint32_t, false>>;
    } else if (type == Type::s32) {
        in.run = wraps ? lanes<sign_or_zero_extended<int32_t, true>> : lanes<sign_or_zero_extended<int32_t, false>>;
    } else {
        unsupported(statement);
    }
    set_operands(decoder, statement, in, type, {type, Type::u32});
}

void decode_find(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    const bool distance = modifiers.take("shiftamt");
    const Type type = modifiers.type();
    modifiers.finish({2});
    const auto pick = [&]<typename T>(T) -> Handler {
        return distance ? active_lanes<highest_bit<T, true>> : active_lanes<highest_bit<T, false>>;
    };
    switch (type) {
        case Type::u32:
            in.run = pick(uint32_t{});
            break;
        case Type::s32:
            in.run = pick(int32_t{});
            break;
        case Type::u64:
            in.run = pick(uint64_t{});
            break;
        case Type::s64:
            in.run = pick(int64_t{});
            break;
        default:
            unsupported(statement);
    }
    set_operands(decoder, statement, in, Type::u32, {type});
}

void decode_nth(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    if (modifiers.type() != Type::b32) unsupported(statement);
    modifiers.finish({4});
    in.run = lanes<nth_set_bit>;
    set_operands(decoder, statement, in, Type::b32, {Type::b32, Type::b32, Type::b32});
}

template <typename T>
uint32_t population(T a) {
    return static_cast<uint32_t>(std::popcount(a));
}
template <typename T>
uint32_t leading_zeros(T a) {
    return static_cast<uint32_t>(std::countl_zero(a));
}

void decode_count(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    const Type type = modifiers.type();
    modifiers.finish({2});
    const std::string_view opcode = statement.opcode();
    if (type != Type::b32 && type != Type::b64) unsupported(statement);
    const bool is_32 = type == Type::b32;
    if (opcode == "brev") {
        in.run = is_32 ? lanes<reversed<uint32_t>> : lanes<reversed<uint64_t>>;
        return set_operands(decoder, statement, in, type, {type});
    }
    if (opcode == "popc")
        in.run = is_32 ? lanes<population<uint32_t>> : lanes<population<uint64_t>>;
    else
        in.run = is_32 ? lanes<leading_zeros<uint32_t>> : lanes<leading_zeros<uint64_t>>;
    set_operands(decoder, statement, in, Type::b32, {type});
}

constexpr OpRow kRows[] = {
    {"prmt", decode_permute}, {"bfe", decode_extract}, {"bfi", decode_insert}, {"bmsk", decode_mask},
    {"szext", decode_mask},   {"bfind", decode_find},  {"fns", decode_nth},    {"brev", decode_count},
    {"popc", decode_count},   {"clz", decode_count},
};

}  // namespace

std::span<const OpRow> bit_field_rows() { return kRows; }

}  // namespace recuda::vgpu
