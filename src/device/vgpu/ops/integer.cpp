// Integer arithmetic (PTX ISA 9.0, sections 9.7.1 and 9.7.2): sums, products, quotients, carry chains, dot products.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "device/vgpu/decode.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/modifiers.h"

namespace recuda::vgpu {
namespace {

using ptx::Statement;
using ptx::Type;

/// Calls `f` with a value of the C++ type of a PTX integer type; declines other types.
template <typename F>
Handler for_type(Type type, F f) {
    switch (type) {
        case Type::s16: return f(int16_t{});
        case Type::u16: return f(uint16_t{});
        case Type::s32: return f(int32_t{});
        case Type::u32: return f(uint32_t{});
        case Type::s64: return f(int64_t{});
        case Type::u64: return f(uint64_t{});
        default: not_mine();
    }
}

template <typename T>
using Unsigned = std::make_unsigned_t<T>;

template <typename T>
T wrapping_add(T a, T b) {
    return static_cast<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
}
template <typename T>
T wrapping_subtract(T a, T b) {
    return static_cast<T>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
}
template <typename T>
T wrapping_multiply(T a, T b) {
    using Wide = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
}

template <typename T>
using Wider = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;

template <typename T>
Wider<T> wide_product(T a, T b) {
    return static_cast<Wider<T>>(a) * static_cast<Wider<T>>(b);
}
template <typename T>
T high_product(T a, T b) {
    return static_cast<T>(wide_product(a, b) >> (8 * sizeof(T)));
}

int32_t saturated(int64_t value) {
    return static_cast<int32_t>(std::clamp<int64_t>(value, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
}

// Division by zero gives all ones, as the hardware does; the overflowing quotient wraps.
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
    if (b == 0) return a;
    if constexpr (std::is_signed_v<T>) {
        if (b == -1) return 0;
    }
    return static_cast<T>(a % b);
}

template <typename T>
T absolute(T a) {
    return a < 0 ? wrapping_subtract<T>(0, a) : a;
}

/// Applies `f` to both 16-bit halves of two words.
template <typename T, typename F>
uint32_t halves(uint32_t a, uint32_t b, F f) {
    const auto low = static_cast<uint16_t>(f(static_cast<T>(a), static_cast<T>(b)));
    const auto high = static_cast<uint16_t>(f(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));
    return static_cast<uint32_t>(high) << 16 | low;
}

enum class Packed : uint8_t { none, s16x2, u16x2 };

Packed take_packed(Modifiers& modifiers) {
    if (modifiers.take("s16x2")) return Packed::s16x2;
    if (modifiers.take("u16x2")) return Packed::u16x2;
    return Packed::none;
}

// ── add, sub and their carry chains ─────────────────────────────────────────────────────────────────────────────────────

/// add.cc, addc, addc.cc and the like: `kind` bits. CC.CF of a subtraction is the borrow inverted: PTX leaves its encoding open
/// between add and sub chains, so the flag here is the carry of an addition and the borrow of a subtraction.
enum Carry : uint8_t { kReads = 1, kWrites = 2 };

template <typename T, bool subtracts>
void carry_chain(Warp& warp, const Instruction& in, Mask active) {
    const T* a = warp.lanes<T>(in.a);
    const T* b = warp.lanes<T>(in.b);
    T* d = warp.lanes<T>(in.d);
    Mask& flag = warp.predicate(in.e);
    const Mask before = (in.mode & kReads) != 0 ? flag : 0;
    Mask after = 0;
    for_active_lanes(d, active, [&](uint32_t i) {
        const T carry = before >> i & 1;
        T partial, result;
        bool out;
        if constexpr (subtracts) {
            out = __builtin_sub_overflow(a[i], b[i], &partial);
            out |= __builtin_sub_overflow(partial, carry, &result);
        } else {
            out = __builtin_add_overflow(a[i], b[i], &partial);
            out |= __builtin_add_overflow(partial, carry, &result);
        }
        after |= static_cast<Mask>(out) << i;
        return result;
    });
    if ((in.mode & kWrites) != 0) flag = (flag & ~active) | after;
}

template <bool subtracts>
void decode_carry(Decoder& decoder, const Statement& statement, Instruction& in, Modifiers& modifiers, uint8_t mode) {
    const Type type = modifiers.type();
    modifiers.finish({3});
    if (type != Type::s32 && type != Type::u32 && type != Type::s64 && type != Type::u64) unsupported(statement);
    const bool is_32 = ptx::size_bytes(type) == 4;
    in.run = is_32 ? carry_chain<uint32_t, subtracts> : carry_chain<uint64_t, subtracts>;
    in.mode = mode;
    set_operands(decoder, statement, in, type, {type, type});
    in.e = decoder.carry();
}

template <bool subtracts>
void decode_sum(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    if (const Packed packed = take_packed(modifiers); packed != Packed::none) {
        modifiers.finish({3});
        in.run = lanes<[](uint32_t a, uint32_t b) {
            return halves<uint16_t>(a, b, [](uint16_t x, uint16_t y) { return subtracts ? x - y : x + y; });
        }>;
        return set_operands(decoder, statement, in, Type::b32, {Type::b32, Type::b32});
    }
    if (modifiers.take("cc")) return decode_carry<subtracts>(decoder, statement, in, modifiers, kWrites);
    const Type type = modifiers.type();
    in.run = for_type(type, []<typename T>(T) -> Handler {
        using U = Unsigned<T>;
        return lanes<[](U a, U b) { return subtracts ? wrapping_subtract(a, b) : wrapping_add(a, b); }>;
    });
    if (modifiers.take("sat")) {
        if (type != Type::s32) unsupported(statement);
        in.run = lanes<[](int32_t a, int32_t b) { return saturated(subtracts ? int64_t{a} - b : int64_t{a} + b); }>;
    }
    modifiers.finish({3});
    set_operands(decoder, statement, in, type, {type, type});
}

template <bool subtracts>
void decode_sum_with_carry(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    const auto mode = static_cast<uint8_t>(modifiers.take("cc") ? kReads | kWrites : kReads);
    decode_carry<subtracts>(decoder, statement, in, modifiers, mode);
}

// ── mul, mad, sad, mul24, mad24, div, rem ───────────────────────────────────────────────────────────────────────────────

Type wide_type(Type type) {
    switch (type) {
        case Type::s16: return Type::s32;
        case Type::u16: return Type::u32;
        case Type::s32: return Type::s64;
        default: return Type::u64;
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
            if constexpr (sizeof(T) == 8) return nullptr;
            else return lanes<[](T a, T b) { return wide_product(a, b); }>;
        });
        return set_operands(decoder, statement, in, wide_type(type), {type, type});
    }
    in.run = for_type(type, [&]<typename T>(T) -> Handler {
        return high ? lanes<[](T a, T b) { return high_product(a, b); }> : lanes<[](T a, T b) { return wrapping_multiply(a, b); }>;
    });
    set_operands(decoder, statement, in, type, {type, type});
}

template <typename T, bool high>
void carry_mad(Warp& warp, const Instruction& in, Mask active) {
    const T* a = warp.lanes<T>(in.a);
    const T* b = warp.lanes<T>(in.b);
    const T* c = warp.lanes<T>(in.c);
    Mask& flag = warp.predicate(in.e);
    const Mask before = (in.mode & kReads) != 0 ? flag : 0;
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
    if ((in.mode & kWrites) != 0) flag = (flag & ~active) | after;
}

template <uint8_t reads>
void decode_mad_chain(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    in.mode = static_cast<uint8_t>(reads | (modifiers.take("cc") ? kWrites : 0));
    const bool high = modifiers.take("hi");
    if (!high && !modifiers.take("lo")) unsupported(statement);
    const Type type = modifiers.type();
    modifiers.finish({4});
    switch (type) {
        case Type::s32: in.run = high ? carry_mad<int32_t, true> : carry_mad<int32_t, false>; break;
        case Type::u32: in.run = high ? carry_mad<uint32_t, true> : carry_mad<uint32_t, false>; break;
        case Type::s64: in.run = high ? carry_mad<int64_t, true> : carry_mad<int64_t, false>; break;
        case Type::u64: in.run = high ? carry_mad<uint64_t, true> : carry_mad<uint64_t, false>; break;
        default: unsupported(statement);
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
            if constexpr (sizeof(T) == 8) return nullptr;
            else return lanes<[](T a, T b, Wider<T> c) { return wrapping_add<Wider<T>>(wide_product(a, b), c); }>;
        });
        return set_operands(decoder, statement, in, wide_type(type), {type, type, wide_type(type)});
    }
    in.run = for_type(type, [&]<typename T>(T) -> Handler {
        return high ? lanes<[](T a, T b, T c) { return wrapping_add(high_product(a, b), c); }>
                    : lanes<[](T a, T b, T c) { return wrapping_add(wrapping_multiply(a, b), c); }>;
    });
    if (modifiers.take("sat")) {
        if (type != Type::s32 || !high) unsupported(statement);
        in.run = lanes<[](int32_t a, int32_t b, int32_t c) { return saturated(int64_t{high_product(a, b)} + c); }>;
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
        if (is_signed) in.run = high ? lanes<product_24<int32_t, true>> : lanes<product_24<int32_t, false>>;
        else in.run = high ? lanes<product_24<uint32_t, true>> : lanes<product_24<uint32_t, false>>;
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
        in.run = lanes<[](int32_t a, int32_t b, int32_t c) { return saturated(int64_t{product_24<int32_t, true>(a, b)} + c); }>;
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

// ── neg, abs, min, max ──────────────────────────────────────────────────────────────────────────────────────────────────

void decode_sign(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    const Type type = modifiers.type();
    const bool negates = statement.opcode() == "neg";
    in.run = for_type(type, [&]<typename T>(T) -> Handler {
        if constexpr (std::is_unsigned_v<T>) return nullptr;
        else return negates ? lanes<[](T a) { return wrapping_subtract<T>(0, a); }> : lanes<absolute<T>>;
    });
    if (in.run == nullptr) unsupported(statement);
    modifiers.finish({2});
    set_operands(decoder, statement, in, type, {type});
}

template <typename T, bool maximum>
T extreme(T a, T b) {
    return maximum == (a > b) ? a : b;
}

template <typename T, bool maximum, bool relu>
Handler extreme_of_halves() {
    return lanes<[](uint32_t a, uint32_t b) {
        return halves<T>(a, b, [](T x, T y) {
            const T result = extreme<T, maximum>(x, y);
            return relu && result < T{0} ? T{0} : result;
        });
    }>;
}

template <bool maximum>
void decode_extreme(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    const Packed packed = take_packed(modifiers);
    Type type = Type::b32;
    if (packed == Packed::s16x2) {
        in.run = modifiers.take("relu") ? extreme_of_halves<int16_t, maximum, true>() : extreme_of_halves<int16_t, maximum, false>();
    } else if (packed == Packed::u16x2) {
        in.run = extreme_of_halves<uint16_t, maximum, false>();
    } else {
        type = modifiers.type();
        in.run = for_type(type, []<typename T>(T) -> Handler { return lanes<extreme<T, maximum>>; });
        if (modifiers.take("relu")) {
            if (type != Type::s32) unsupported(statement);
            in.run = lanes<[](int32_t a, int32_t b) { return std::max(extreme<int32_t, maximum>(a, b), 0); }>;
        }
    }
    modifiers.finish({3});
    set_operands(decoder, statement, in, type, {type, type});
}

// ── dp4a, dp2a ──────────────────────────────────────────────────────────────────────────────────────────────────────────

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
    if (a == Type::s32) in.run = b == Type::s32 ? dot_product<int8_t, int8_t>(bytes, high) : dot_product<int8_t, uint8_t>(bytes, high);
    else in.run = b == Type::s32 ? dot_product<uint8_t, int8_t>(bytes, high) : dot_product<uint8_t, uint8_t>(bytes, high);
    set_operands(decoder, statement, in, Type::b32, {Type::b32, Type::b32, Type::b32});
}

constexpr OpRow kRows[] = {
    {"add", decode_sum<false>},       {"sub", decode_sum<true>},         {"addc", decode_sum_with_carry<false>},
    {"subc", decode_sum_with_carry<true>}, {"mul", decode_multiply},     {"mad", decode_mad},
    {"madc", decode_mad_chain<kReads>},    {"sad", decode_sad},          {"mul24", decode_multiply_24},
    {"mad24", decode_multiply_24},    {"div", decode_divide},            {"rem", decode_divide},
    {"neg", decode_sign},             {"abs", decode_sign},              {"min", decode_extreme<false>},
    {"max", decode_extreme<true>},    {"dp4a", decode_dot},              {"dp2a", decode_dot},
};

}  // namespace

std::span<const OpRow> integer_rows() { return kRows; }

}  // namespace recuda::vgpu
