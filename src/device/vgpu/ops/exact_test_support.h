// Arithmetic on IEEE formats in exact rational numbers of any size, rounded once by comparing remainders: what the
// tests hold instructions against. It shares no code and no idea with formats.h.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <string>

namespace recuda::vgpu::exact {

using Integer = boost::multiprecision::cpp_int;

struct Format {
    std::string name;
    int exponent_bits;
    int mantissa_bits;
    uint64_t nan;  // what an operation without a NaN operand gives

    int bits() const { return 1 + exponent_bits + mantissa_bits; }
    uint64_t sign_bit() const { return uint64_t{1} << (bits() - 1); }
    uint64_t infinity() const { return ((uint64_t{1} << exponent_bits) - 1) << mantissa_bits; }
    /// The exponent of the last digit of denormals.
    int least_exponent() const { return 2 - (1 << (exponent_bits - 1)) - mantissa_bits; }
};
inline const Format kF16{"f16", 5, 10, 0x7fff}, kBf16{"bf16", 8, 7, 0x7fff}, kF32{"f32", 8, 23, 0x7fffffff},
    kF64{"f64", 11, 52, 0xfff8000000000000};

enum class Mode : uint8_t { rn, rz, rm, rp };
inline constexpr const char* kModes[] = {"rn", "rz", "rm", "rp"};

/// sign * numerator / denominator * 2^exponent, or something that is no number.
struct Value {
    enum class Kind : uint8_t { finite, infinite, nan } kind = Kind::finite;
    bool negative = false;
    Integer numerator = 0, denominator = 1;
    int exponent = 0;

    bool is_zero() const { return kind == Kind::finite && numerator == 0; }
};

Value value_of(uint64_t bits, const Format& format);
/// The format's nearest number in the mode's direction; NaN is the format's.
uint64_t rounded(const Value& value, const Format& format, Mode mode);

/// The sign of an exact zero follows the mode.
Value sum(const Value& a, const Value& b, Mode mode);
Value product(const Value& a, const Value& b);
Value quotient(const Value& a, const Value& b);
/// To at least 128 digits with a sticky last one: exact enough for any format here.
Value root(const Value& a);
/// Rounded to an integer: rn for rni, rz for rzi and so on.
Value integral(const Value& a, Mode mode);

/// Denormals become zeros of their sign.
uint64_t flushed(uint64_t bits, const Format& format);
/// Whether the value, rounded as if exponents had no end, lies below the format's normal numbers.
bool is_tiny(const Value& value, const Format& format, Mode mode);
/// Into [0, 1]; NaN and -0 become +0.
uint64_t saturated(uint64_t bits, const Format& format);

}  // namespace recuda::vgpu::exact
