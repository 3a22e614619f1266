#include "tensor/dtype.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace recuda {
namespace {

/// One row a type, in the order of the enum. Floating types have their format: stored significand bits, exponent bits,
/// and whether the highest exponent is infinity and NaN as in IEEE 754 (e4m3 gives up infinity; its NaN is all ones:
/// arXiv 2209.05433).
struct Row {
    std::string_view name;
    uint32_t bytes;
    int significand_bits, exponent_bits;
    bool ieee;
    bool is_signed;
};

constexpr std::array<Row, 14> kRows{{
    {"i8", 1, 0, 0, false, true},
    {"u8", 1, 0, 0, false, false},
    {"i16", 2, 0, 0, false, true},
    {"u16", 2, 0, 0, false, false},
    {"i32", 4, 0, 0, false, true},
    {"u32", 4, 0, 0, false, false},
    {"i64", 8, 0, 0, false, true},
    {"u64", 8, 0, 0, false, false},
    {"f16", 2, 10, 5, true, true},
    {"bf16", 2, 7, 8, true, true},
    {"f32", 4, 23, 8, true, true},
    {"f64", 8, 52, 11, true, true},
    {"e4m3", 1, 3, 4, false, true},
    {"e5m2", 1, 2, 5, true, true},
}};

constexpr const Row& row(DType type) { return kRows[static_cast<size_t>(type)]; }

constexpr int bias(const Row& format) { return (1 << (format.exponent_bits - 1)) - 1; }

/// Decodes sign, exponent and significand of a small format exactly.
double decode(const Row& format, uint64_t bits) {
    const int width = 1 + format.exponent_bits + format.significand_bits;
    const uint64_t significand = bits & ((uint64_t{1} << format.significand_bits) - 1);
    const int exponent = static_cast<int>(bits >> format.significand_bits) & ((1 << format.exponent_bits) - 1);
    const int top = (1 << format.exponent_bits) - 1;
    const bool negative = (bits >> (width - 1)) & 1;
    double magnitude;
    if (format.ieee && exponent == top)
        magnitude = significand == 0 ? HUGE_VAL : std::nan("");
    else if (!format.ieee && exponent == top && significand == (uint64_t{1} << format.significand_bits) - 1)
        magnitude = std::nan("");
    else if (exponent == 0)
        magnitude = std::ldexp(static_cast<double>(significand), 1 - bias(format) - format.significand_bits);
    else
        magnitude = std::ldexp(static_cast<double>(significand | uint64_t{1} << format.significand_bits),
                               exponent - bias(format) - format.significand_bits);
    return negative ? -magnitude : magnitude;
}

/// Rounds to nearest even into a small format: scales the number so that its last kept bit is 1, rounds, reassembles.
uint64_t encode(const Row& format, double value) {
    const int width = 1 + format.exponent_bits + format.significand_bits;
    const uint64_t sign = std::signbit(value) ? uint64_t{1} << (width - 1) : 0;
    const uint64_t top = (uint64_t{1} << format.exponent_bits) - 1;
    const uint64_t nan = top << format.significand_bits | (format.ieee ? uint64_t{1} << (format.significand_bits - 1)
                                                                       : (uint64_t{1} << format.significand_bits) - 1);
    const uint64_t overflow = format.ieee ? top << format.significand_bits : nan;
    if (std::isnan(value)) return sign | nan;
    if (std::isinf(value)) return sign | overflow;
    int exponent = 0;
    std::frexp(value, &exponent);  // |value| in [2^(exponent-1), 2^exponent)
    const int unit = std::max(exponent - 1, 1 - bias(format)) - format.significand_bits;
    // Adding the rounded significand to the exponent field lets a carry move into the exponent by itself.
    const auto significand = static_cast<uint64_t>(std::nearbyint(std::ldexp(std::fabs(value), -unit)));
    const uint64_t hidden = uint64_t{1} << format.significand_bits;
    uint64_t bits = significand;
    if (significand >= hidden)
        bits = (static_cast<uint64_t>(unit + format.significand_bits + bias(format)) << format.significand_bits) +
               (significand - hidden);
    const uint64_t largest = format.ieee ? overflow - 1 : nan - 1;
    return sign | (bits > largest ? overflow : bits);
}

template <typename T>
double load_as(const std::byte* element) {
    T value;
    std::memcpy(&value, element, sizeof value);
    return static_cast<double>(value);
}

template <typename T>
void store_as(std::byte* element, T value) {
    std::memcpy(element, &value, sizeof value);
}

template <typename T>
uint64_t load_bits(const std::byte* element) {
    T value;
    std::memcpy(&value, element, sizeof value);
    return value;
}

}  // namespace

std::string_view name(DType type) { return row(type).name; }
uint32_t size_bytes(DType type) { return row(type).bytes; }
bool is_floating(DType type) { return row(type).exponent_bits > 0; }
bool is_signed(DType type) { return row(type).is_signed; }

DType dtype_named(std::string_view name) {
    std::vector<std::string> known;
    for (size_t i = 0; i < kRows.size(); ++i) {
        if (kRows[i].name == name) return static_cast<DType>(i);
        known.emplace_back(kRows[i].name);
    }
    throw Error("there is no type {}{}; there are {}", name, did_you_mean(name, known), joined(known, " "));
}

double unit_roundoff(DType type) { return is_floating(type) ? std::ldexp(1.0, -row(type).significand_bits - 1) : 0; }

double smallest_subnormal(DType type) {
    return is_floating(type) ? std::ldexp(1.0, 1 - bias(row(type)) - row(type).significand_bits) : 0;
}

double largest_finite(DType type) {
    const Row& format = row(type);
    if (!is_floating(type)) return std::ldexp(1.0, static_cast<int>(8 * format.bytes) - (format.is_signed ? 1 : 0)) - 1;
    if (type == DType::f64) return std::numeric_limits<double>::max();
    const uint64_t top = (uint64_t{1} << format.exponent_bits) - 1;
    return decode(format, format.ieee
                              ? (top << format.significand_bits) - 1
                              : (top << format.significand_bits | ((uint64_t{1} << format.significand_bits) - 1)) - 1);
}

double load(DType type, const std::byte* element) {
    switch (type) {
        case DType::i8:
            return load_as<int8_t>(element);
        case DType::u8:
            return load_as<uint8_t>(element);
        case DType::i16:
            return load_as<int16_t>(element);
        case DType::u16:
            return load_as<uint16_t>(element);
        case DType::i32:
            return load_as<int32_t>(element);
        case DType::u32:
            return load_as<uint32_t>(element);
        case DType::i64:
            return load_as<int64_t>(element);
        case DType::u64:
            return load_as<uint64_t>(element);
        case DType::f32:
            return load_as<float>(element);
        case DType::f64:
            return load_as<double>(element);
        case DType::bf16:
            return bf16_to_double(static_cast<uint16_t>(load_bits<uint16_t>(element)));
        case DType::f16:
            return decode(row(type), load_bits<uint16_t>(element));
        case DType::e4m3:
        case DType::e5m2:
            return decode(row(type), load_bits<uint8_t>(element));
    }
    return 0;
}

void store(DType type, std::byte* element, double value) {
    switch (type) {
        case DType::i8:
            return store_as(element, static_cast<int8_t>(static_cast<int64_t>(value)));
        case DType::u8:
            return store_as(element, static_cast<uint8_t>(static_cast<int64_t>(value)));
        case DType::i16:
            return store_as(element, static_cast<int16_t>(static_cast<int64_t>(value)));
        case DType::u16:
            return store_as(element, static_cast<uint16_t>(static_cast<int64_t>(value)));
        case DType::i32:
            return store_as(element, static_cast<int32_t>(value));
        case DType::u32:
            return store_as(element, static_cast<uint32_t>(value));
        case DType::i64:
            return store_as(element, static_cast<int64_t>(value));
        case DType::u64:
            return store_as(element, static_cast<uint64_t>(value));
        case DType::f32:
            return store_as(element, static_cast<float>(value));
        case DType::f64:
            return store_as(element, value);
        case DType::bf16:
            return store_as(element, bf16_from_double(value));
        case DType::f16:
            return store_as(element, static_cast<uint16_t>(encode(row(type), value)));
        case DType::e4m3:
        case DType::e5m2:
            return store_as(element, static_cast<uint8_t>(encode(row(type), value)));
    }
}

uint16_t bf16_from_double(double value) {
    // Inputs are made by the million, so numbers that are normal in bf16 are rounded in integer arithmetic: half a unit
    // minus one plus the last kept bit is added, and a carry moves into the exponent by itself.
    constexpr int kDropped = 52 - 7, kRebias = 1023 - 127;
    const auto bits = std::bit_cast<uint64_t>(value);
    const auto exponent = static_cast<int>(bits >> 52 & 0x7ff);
    if (exponent <= kRebias || exponent >= kRebias + 254) return static_cast<uint16_t>(encode(row(DType::bf16), value));
    const uint64_t rounded = bits + ((uint64_t{1} << (kDropped - 1)) - 1) + (bits >> kDropped & 1);
    return static_cast<uint16_t>((bits >> 63) << 15 | (((rounded >> kDropped) - (uint64_t{kRebias} << 7)) & 0x7fff));
}
double bf16_to_double(uint16_t bits) {
    return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits) << 16));
}
uint16_t f16_from_double(double value) { return static_cast<uint16_t>(encode(row(DType::f16), value)); }
double f16_to_double(uint16_t bits) { return decode(row(DType::f16), bits); }

}  // namespace recuda
