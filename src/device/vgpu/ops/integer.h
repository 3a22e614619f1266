// What the files of integer instructions share: types, arithmetic that wraps, products of full width.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <type_traits>

#include "device/vgpu/decode.h"
#include "device/vgpu/ops/modifiers.h"

namespace recuda::vgpu {

/// Calls `f` with a value of the C++ type of a PTX integer type; declines other types.
template <typename F>
Handler for_type(ptx::Type type, F f) {
    using ptx::Type;
    switch (type) {
        case Type::s16:
            return f(int16_t{});
        case Type::u16:
            return f(uint16_t{});
        case Type::s32:
            return f(int32_t{});
        case Type::u32:
            return f(uint32_t{});
        case Type::s64:
            return f(int64_t{});
        case Type::u64:
            return f(uint64_t{});
        default:
            not_mine();
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
using Wider =
    std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
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

inline int32_t saturated_word(int64_t value) {
    return static_cast<int32_t>(
        std::clamp<int64_t>(value, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
}

/// Whether an instruction of a carry chain reads and writes the flag CC.CF: the carry of an addition; of a subtraction
/// that of a + ~b + 1, which is set where nothing was borrowed (seen on an H200: sub.cc, then addc).
enum Carry : uint8_t { kReadsCarry = 1, kWritesCarry = 2 };

/// mul, mad, madc, mul24, mad24, sad, div, rem, dp4a, dp2a.
std::span<const OpRow> integer_product_rows();

}  // namespace recuda::vgpu
