// Integer products and quotients (PTX ISA 9.0, section 9.7.1): mul, mad, their carry chains, mul24, mad24, sad, div,
// rem, dp4a, dp2a.
#include "device/vgpu/ops/integer.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/modifiers.h"

namespace recuda::vgpu {
namespace {

using ptx::Statement;
using ptx::Type;

// Division by zero gives all ones, quotient and remainder, as an H200 does; the overflowing quotient wraps.
template <typename T>
T quotient(T a, T b) {
    if (b == 0) return static_cast<T>(-1);
    if constexpr (std::is_signed_v<T>) {
        if (b == -1) return wrapping_subtract<T>(0, a);
    }
    return static_cast<T>(a / b);
}
template <typename T>
T remainder(T a, T b) {
    if (b == 0) return static_cast<T>(-1);
    if constexpr (std::is_signed_v<T>) {
        if (b == -1) return 0;
    }
    return static_cast<T>(a % b);
}

// ── mul, mad, sad, mul24, mad24, div, rem ──

Type wide_type(Type type) {
    switch (type) {
        case Type::s16:
            return Type::s32;
        case Type::u16:
            return Type::u32;
        case Type::s32:
            return Type::s64;
        default:
            return Type::u64;
    }
}

void decode_multiply(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    const Type type = modifiers.type();
    for_type(type, []<typename T>(T) -> Handler { return nullptr; });
    const bool wide = modifiers.take("wide"), high = modifiers.take("hi");
    if (!wide && !high && !modifiers.take("lo")) unsupported(statement);
    modifiers.finish({3});
    if (wide) {
        if (ptx::size_bytes(type) == 8) unsupported(statement);
        in.run = for_type(type, []<typename T>(T) -> Handler {
            if constexpr (sizeof(T) == 8)
                return nullptr;
            else
                return lanes<[](T a, T b) { return wide_product(a, b); }>;
        });
        return set_operands(decoder, statement, in, wide_type(type), {type, type});
    }
    in.run = for_type(type, [&]<typename T>(T) -> Handler {
        return high ? lanes<[](T a, T b) { return high_product(a, b); }>
                    : lanes<[](T a, T b) { return wrapping_multiply(a, b); }>;
    });
    set_operands(decoder, statement, in, type, {type, type});
}

template <typename T, bool high>
void carry_mad(Warp& warp, const Instruction& in, Mask active) {
    const T* a = warp.lanes<T>(in.a);
    const T* b = warp.lanes<T>(in.b);
    const T* c = warp.lanes<T>(in.c);
    Mask& flag = warp.predicate(in.e);
    const Mask before = (in.mode & kReadsCarry) != 0 ? flag : 0;
    Mask after = 0;
    for_active_lanes(warp.lanes<T>(in.d), active, [&](uint32_t i) {
        using U = Unsigned<T>;
        const auto product = static_cast<U>(high ? high_product(a[i], b[i]) : wrapping_multiply(a[i], b[i]));
        const U carry = before >> i & 1;
        U partial, result;
        bool out = __builtin_add_overflow(product, static_cast<U>(c[i]), &partial);
        out |= __builtin_add_overflow(partial, carry, &result);
        after |= static_cast<Mask>(out) << i;
        return static_cast<T>(result);
    });
    if ((in.mode & kWritesCarry) != 0) flag = (flag & ~active) | after;
}

template <uint8_t reads>
void decode_mad_chain(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    in.mode = static_cast<uint8_t>(reads | (modifiers.take("cc") ? kWritesCarry : 0));
    const bool high = modifiers.take("hi");
    if (!high && !modifiers.take("lo")) unsupported(statement);
    const Type type = modifiers.type();
    modifiers.finish({4});
    switch (type) {
        case Type::s32:
            in.run = high ? carry_mad<int32_t, true> : carry_mad<int32_t, false>;
            break;
        case Type::u32:
            in.run = high ? carry_mad<uint32_t, true> : carry_mad<uint32_t, false>;
            break;
        case Type::s64:
            in.run = high ? carry_mad<int64_t, true> : carry_mad<int64_t, false>;
            break;
        case Type::u64:
            in.run = high ? carry_mad<uint64_t, true> : carry_mad<uint64_t, false>;
            break;
        default:
            unsupported(statement);
    }
    set_operands(decoder, statement, in, type, {type, type, type});
    in.e = decoder.carry();
}

void decode_mad(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    const Type type = modifiers.type();
    for_type(type, []<typename T>(T) -> Handler { return nullptr; });
    if (modifiers.take("cc")) return decode_mad_chain<0>(decoder, statement, in);
    const bool wide = modifiers.take("wide"), high = modifiers.take("hi");
    if (!wide && !high && !modifiers.take("lo")) unsupported(statement);
    if (wide) {
        modifiers.finish({4});
        if (ptx::size_bytes(type) == 8) unsupported(statement);
        in.run = for_type(type, []<typename T>(T) -> Handler {
            if constexpr (sizeof(T) == 8)
                return nullptr;
            else
                return lanes<[](T a, T b, Wider<T> c) { return wrapping_add<Wider<T>>(wide_product(a, b), c); }>;
        });
        return set_operands(decoder, statement, in, wide_type(type), {type, type, wide_type(type)});
    }
    in.run = for_type(type, [&]<typename T>(T) -> Handler {
        return high ? lanes<[](T a, T b, T c) { return wrapping_add(high_product(a, b), c); }>
                    : lanes<[](T a, T b, T c) { return wrapping_add(wrapping_multiply(a, b), c); }>;
    });
    if (modifiers.take("sat")) {
        if (type != Type::s32 || !high) unsupported(statement);
        in.run = lanes<[](int32_t a, int32_t b, int32_t c) { return saturated_word(int64_t{high_product(a, b)} + c); }>;
    }
    modifiers.finish({4});
    set_operands(decoder, statement, in, type, {type, type, type});
}

void decode_sad(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    const Type type = modifiers.type();
    modifiers.finish({4});
    in.run = for_type(type, []<typename T>(T) -> Handler {
        return lanes<[](T a, T b, T c) {
            return wrapping_add(c, a < b ? wrapping_subtract(b, a) : wrapping_subtract(a, b));
        }>;
    });
    set_operands(decoder, statement, in, type, {type, type, type});
}

/// The low 24 bits, extended.
int64_t low_24(int32_t a) { return static_cast<int32_t>(static_cast<uint32_t>(a) << 8) >> 8; }
int64_t low_24(uint32_t a) { return a & 0xffffffu; }

/// Bits 0…31 or 16…47 of the 48-bit product.
template <typename T, bool high>
T product_24(T a, T b) {
    const auto product = static_cast<uint64_t>(low_24(a) * low_24(b));
    return static_cast<T>(high ? product >> 16 : product);
}

void decode_multiply_24(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    const Type type = modifiers.type();
    const bool high = modifiers.take("hi"), is_signed = type == Type::s32;
    if (!high && !modifiers.take("lo")) unsupported(statement);
    if (!is_signed && type != Type::u32) unsupported(statement);
    if (statement.opcode() == "mul24") {
        if (is_signed)
            in.run = high ? lanes<product_24<int32_t, true>> : lanes<product_24<int32_t, false>>;
        else
            in.run = high ? lanes<product_24<uint32_t, true>> : lanes<product_24<uint32_t, false>>;
        modifiers.finish({3});
        return set_operands(decoder, statement, in, type, {type, type});
    }
    const auto pick = [&]<typename T>(T) -> Handler {
        return high ? lanes<[](T a, T b, T c) { return wrapping_add(product_24<T, true>(a, b), c); }>
                    : lanes<[](T a, T b, T c) { return wrapping_add(product_24<T, false>(a, b), c); }>;
    };
    in.run = is_signed ? pick(int32_t{}) : pick(uint32_t{});
    if (modifiers.take("sat")) {
        if (!is_signed || !high) unsupported(statement);
        in.run = lanes<[](int32_t a, int32_t b, int32_t c) {
            return saturated_word(int64_t{product_24<int32_t, true>(a, b)} + c);
        }>;
    }
    modifiers.finish({4});
    set_operands(decoder, statement, in, type, {type, type, type});
}

void decode_divide(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    const Type type = modifiers.type();
    const bool divides = statement.opcode() == "div";
    in.run = for_type(type, [&]<typename T>(T) -> Handler {
        return divides ? active_lanes<quotient<T>> : active_lanes<remainder<T>>;
    });
    modifiers.finish({3});
    set_operands(decoder, statement, in, type, {type, type});
}

// ── dp4a, dp2a ──

template <typename A, typename B>
uint32_t dot_of_bytes(uint32_t a, uint32_t b, uint32_t c) {
    for (uint32_t k = 0; k < 4; ++k) {
        c += static_cast<uint32_t>(static_cast<A>(a >> (8 * k)) * static_cast<B>(b >> (8 * k)));
    }
    return c;
}

template <typename A, typename B, bool high>
uint32_t dot_of_halves(uint32_t a, uint32_t b, uint32_t c) {
    for (uint32_t k = 0; k < 2; ++k) {
        const auto half = static_cast<std::conditional_t<std::is_signed_v<A>, int16_t, uint16_t>>(a >> (16 * k));
        c += static_cast<uint32_t>(half * static_cast<B>(b >> (8 * (k + 2 * high))));
    }
    return c;
}

template <typename A, typename B>
Handler dot_product(bool bytes, bool high) {
    if (bytes) return lanes<dot_of_bytes<A, B>>;
    return high ? lanes<dot_of_halves<A, B, true>> : lanes<dot_of_halves<A, B, false>>;
}

void decode_dot(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    const bool bytes = statement.opcode() == "dp4a";
    const bool high = !bytes && modifiers.take("hi");
    if (!bytes && !high && !modifiers.take("lo")) unsupported(statement);
    const Type b = modifiers.type(), a = modifiers.type();
    const auto is_word = [](Type type) { return type == Type::s32 || type == Type::u32; };
    if (!is_word(a) || !is_word(b)) unsupported(statement);
    modifiers.finish({4});
    if (a == Type::s32)
        in.run = b == Type::s32 ? dot_product<int8_t, int8_t>(bytes, high) : dot_product<int8_t, uint8_t>(bytes, high);
    else
        in.run =
            b == Type::s32 ? dot_product<uint8_t, int8_t>(bytes, high) : dot_product<uint8_t, uint8_t>(bytes, high);
    set_operands(decoder, statement, in, Type::b32, {Type::b32, Type::b32, Type::b32});
}

constexpr OpRow kRows[] = {
    {"mul", decode_multiply}, {"mad", decode_mad},           {"madc", decode_mad_chain<kReadsCarry>},
    {"sad", decode_sad},      {"mul24", decode_multiply_24}, {"mad24", decode_multiply_24},
    {"div", decode_divide},   {"rem", decode_divide},        {"dp4a", decode_dot},
    {"dp2a", decode_dot},
};

}  // namespace

std::span<const OpRow> integer_product_rows() { return kRows; }

}  // namespace recuda::vgpu
