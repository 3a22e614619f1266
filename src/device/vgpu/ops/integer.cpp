// Integer sums and order (PTX ISA 9.0, sections 9.7.1 and 9.7.2): add, sub, their carry chains, neg, abs, min, max.
#include <vector>

#include "device/vgpu/ops/integer.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/modifiers.h"
#include "device/vgpu/ops/video.h"

namespace recuda::vgpu {
namespace {

using ptx::Statement;
using ptx::Type;

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

// ── add, sub and their carry chains ──

template <typename T, bool subtracts>
void carry_chain(Warp& warp, const Instruction& in, Mask active) {
    const T* a = warp.lanes<T>(in.a);
    const T* b = warp.lanes<T>(in.b);
    T* d = warp.lanes<T>(in.d);
    Mask& flag = warp.predicate(in.e);
    const Mask before = (in.mode & kReadsCarry) != 0 ? flag : (subtracts ? kFullMask : 0);
    Mask after = 0;
    for_active_lanes(d, active, [&](uint32_t i) {
        const T carry = before >> i & 1, second = subtracts ? ~b[i] : b[i];
        T partial, result;
        bool out = __builtin_add_overflow(a[i], second, &partial);
        out |= __builtin_add_overflow(partial, carry, &result);
        after |= static_cast<Mask>(out) << i;
        return result;
    });
    if ((in.mode & kWritesCarry) != 0) flag = (flag & ~active) | after;
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
    if (modifiers.take("cc")) return decode_carry<subtracts>(decoder, statement, in, modifiers, kWritesCarry);
    const Type type = modifiers.type();
    in.run = for_type(type, []<typename T>(T) -> Handler {
        using U = Unsigned<T>;
        return lanes<[](U a, U b) { return subtracts ? wrapping_subtract(a, b) : wrapping_add(a, b); }>;
    });
    if (modifiers.take("sat")) {
        if (type != Type::s32) unsupported(statement);
        in.run =
            lanes<[](int32_t a, int32_t b) { return saturated_word(subtracts ? int64_t{a} - b : int64_t{a} + b); }>;
    }
    modifiers.finish({3});
    set_operands(decoder, statement, in, type, {type, type});
}

template <bool subtracts>
void decode_sum_with_carry(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    const auto mode = static_cast<uint8_t>(modifiers.take("cc") ? kReadsCarry | kWritesCarry : kReadsCarry);
    decode_carry<subtracts>(decoder, statement, in, modifiers, mode);
}

// ── neg, abs, min, max ──

void decode_sign(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    const Type type = modifiers.type();
    const bool negates = statement.opcode() == "neg";
    in.run = for_type(type, [&]<typename T>(T) -> Handler {
        if constexpr (std::is_unsigned_v<T>)
            return nullptr;
        else
            return negates ? lanes<[](T a) { return wrapping_subtract<T>(0, a); }> : lanes<absolute<T>>;
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
        in.run = modifiers.take("relu") ? extreme_of_halves<int16_t, maximum, true>()
                                        : extreme_of_halves<int16_t, maximum, false>();
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

constexpr OpRow kSums[] = {
    {"add", decode_sum<false>},
    {"sub", decode_sum<true>},
    {"addc", decode_sum_with_carry<false>},
    {"subc", decode_sum_with_carry<true>},
    {"neg", decode_sign},
    {"abs", decode_sign},
    {"min", decode_extreme<false>},
    {"max", decode_extreme<true>},
};

}  // namespace

std::span<const OpRow> integer_rows() {
    static const std::vector<OpRow> rows = [] {
        std::vector<OpRow> joined(std::begin(kSums), std::end(kSums));
        for (const auto& more : {integer_product_rows(), video_rows(), video_simd_rows()})
            joined.insert(joined.end(), more.begin(), more.end());
        return joined;
    }();
    return rows;
}

}  // namespace recuda::vgpu
