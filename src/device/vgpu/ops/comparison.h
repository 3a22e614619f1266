// The comparisons of setp and set: their names, and one test of a warp's lanes for each.
#pragma once

#include <string_view>
#include <type_traits>
#include <utility>

#include "device/vgpu/ops/formats.h"
#include "device/vgpu/ops/lanes.h"

namespace recuda::vgpu {

enum class Comparison : uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };

inline constexpr std::string_view kComparisons[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                                    "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
/// Of unsigned integers; the same tests under other names.
inline constexpr std::pair<std::string_view, Comparison> kUnsigned[] = {
    {"lo", Comparison::lt}, {"ls", Comparison::le}, {"hi", Comparison::gt}, {"hs", Comparison::ge}};

/// For integers the first six alone. Plain comparisons of floats are false for a NaN (ne too), those with u are true.
template <Comparison comparison, typename T>
bool compares(T a, T b) {
    switch (comparison) {
        case Comparison::eq:
            return a == b;
        case Comparison::ne:
            return std::is_floating_point_v<T> ? a < b || a > b : a != b;
        case Comparison::lt:
            return a < b;
        case Comparison::le:
            return a <= b;
        case Comparison::gt:
            return a > b;
        case Comparison::ge:
            return a >= b;
        case Comparison::equ:
            return !(a < b || a > b);
        case Comparison::neu:
            return a != b;
        case Comparison::ltu:
            return !(a >= b);
        case Comparison::leu:
            return !(a > b);
        case Comparison::gtu:
            return !(a <= b);
        case Comparison::geu:
            return !(a < b);
        case Comparison::num:
            return a == a && b == b;
        default:
            return a != a || b != b;
    }
}

/// How a test reads its operands: a type of the register's lanes, and what is compared.
template <typename T>
struct Plain {
    using Lane = T;
    static T value(T x) { return x; }
};
struct FlushedSingle {
    using Lane = float;
    static float value(float x) { return flushed(x); }
};
template <float (*widen)(uint16_t), uint16_t exponent>
struct Narrow {
    using Lane = uint16_t;
    static float value(uint16_t x) {
        return widen(exponent != 0 && (x & exponent) == 0 ? static_cast<uint16_t>(x & 0x8000) : x);
    }
};
using HalfValue = Narrow<from_half, 0>;
using FlushedHalf = Narrow<from_half, 0x7c00>;
using BfloatValue = Narrow<from_bfloat, 0>;

using Test = Mask (*)(const void* a, const void* b);

/// The lanes for which the comparison holds; of packed registers the lower (`part` 0) or upper (1) halves.
template <typename Reading, Comparison comparison, int stride, int part>
Mask test(const void* a, const void* b) {
    const auto* x = static_cast<const typename Reading::Lane*>(a);
    const auto* y = static_cast<const typename Reading::Lane*>(b);
    return mask_of([&](uint32_t i) {
        return compares<comparison>(Reading::value(x[stride * i + part]), Reading::value(y[stride * i + part]));
    });
}

}  // namespace recuda::vgpu
