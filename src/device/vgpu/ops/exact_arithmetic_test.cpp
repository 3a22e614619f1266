#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "device/vgpu/ops/exact_test_support.h"
#include "device/vgpu/ops/ops_test_support.h"

namespace recuda::vgpu {
namespace exact {

Value value_of(uint64_t bits, const Format& format) {
    Value value;
    value.negative = (bits & format.sign_bit()) != 0;
    const uint64_t magnitude = bits & (format.sign_bit() - 1);
    if (magnitude >= format.infinity()) {
        value.kind = magnitude == format.infinity() ? Value::Kind::infinite : Value::Kind::nan;
        return value;
    }
    const uint64_t exponent = magnitude >> format.mantissa_bits, unit = uint64_t{1} << format.mantissa_bits;
    value.numerator = (magnitude & (unit - 1)) + (exponent == 0 ? 0 : unit);
    value.exponent = format.least_exponent() + static_cast<int>(exponent == 0 ? 0 : exponent - 1);
    return value;
}

uint64_t rounded(const Value& value, const Format& format, Mode mode) {
    if (value.kind == Value::Kind::nan) return format.nan;
    const uint64_t sign = value.negative ? format.sign_bit() : 0;
    if (value.kind == Value::Kind::infinite) return sign | format.infinity();
    if (value.numerator == 0) return sign;
    // The exponent of the result's last digit: that of the leading digit less the mantissa's, or the denormals'.
    const int length = static_cast<int>(msb(value.numerator)) - static_cast<int>(msb(value.denominator));
    int unit = std::max(value.exponent + length - 1 - format.mantissa_bits, format.least_exponent());
    Integer quotient, remainder, divisor;
    const auto divide = [&] {
        const int shift = value.exponent - unit;
        const Integer dividend = shift > 0 ? Integer(value.numerator << shift) : value.numerator;
        divisor = shift < 0 ? Integer(value.denominator << -shift) : value.denominator;
        divide_qr(dividend, divisor, quotient, remainder);
    };
    divide();
    if (quotient >> (format.mantissa_bits + 1) != 0) {
        ++unit;
        divide();
    }
    const Integer twice = remainder * 2;
    bool up = false;
    if (mode == Mode::rn) up = twice > divisor || (twice == divisor && (quotient & 1) != 0);
    if (mode == Mode::rp) up = remainder != 0 && !value.negative;
    if (mode == Mode::rm) up = remainder != 0 && value.negative;
    // Exponent and mantissa as one number: a carry goes on into the exponent, and into infinity.
    const Integer implicit = Integer(1) << format.mantissa_bits;
    const bool normal = quotient >= implicit;
    Integer code = quotient + (up ? 1 : 0);
    if (normal) code += (Integer(unit - format.least_exponent()) << format.mantissa_bits);
    if (code >= format.infinity()) {
        const bool outward =
            mode == Mode::rn || (mode == Mode::rp && !value.negative) || (mode == Mode::rm && value.negative);
        code = outward ? format.infinity() : format.infinity() - 1;
    }
    return sign | static_cast<uint64_t>(code);
}

namespace {
Value not_a_number() {
    Value value;
    value.kind = Value::Kind::nan;
    return value;
}
Value infinite(bool negative) {
    Value value;
    value.kind = Value::Kind::infinite;
    value.negative = negative;
    return value;
}
bool any_nan(const Value& a, const Value& b) { return a.kind == Value::Kind::nan || b.kind == Value::Kind::nan; }
}  // namespace

Value sum(const Value& a, const Value& b, Mode mode) {
    if (any_nan(a, b)) return not_a_number();
    if (a.kind == Value::Kind::infinite && b.kind == Value::Kind::infinite)
        return a.negative == b.negative ? a : not_a_number();
    if (a.kind == Value::Kind::infinite) return a;
    if (b.kind == Value::Kind::infinite) return b;
    Value result;
    result.exponent = std::min(a.exponent, b.exponent);
    const auto scaled = [&](const Value& one) {
        const Integer magnitude = one.numerator << (one.exponent - result.exponent);
        return one.negative ? Integer(-magnitude) : magnitude;
    };
    const Integer total = scaled(a) + scaled(b);
    result.negative =
        total == 0 ? (a.negative && b.negative) || (a.negative != b.negative && mode == Mode::rm) : total < 0;
    if (total == 0 && a.numerator != 0) result.negative = mode == Mode::rm;
    result.numerator = abs(total);
    return result;
}

Value product(const Value& a, const Value& b) {
    if (any_nan(a, b)) return not_a_number();
    const bool negative = a.negative != b.negative;
    if (a.kind == Value::Kind::infinite || b.kind == Value::Kind::infinite)
        return a.is_zero() || b.is_zero() ? not_a_number() : infinite(negative);
    Value result;
    result.negative = negative;
    result.numerator = a.numerator * b.numerator;
    result.exponent = a.exponent + b.exponent;
    return result;
}

Value quotient(const Value& a, const Value& b) {
    if (any_nan(a, b)) return not_a_number();
    const bool negative = a.negative != b.negative;
    const bool a_infinite = a.kind == Value::Kind::infinite, b_infinite = b.kind == Value::Kind::infinite;
    if ((a_infinite && b_infinite) || (a.is_zero() && b.is_zero())) return not_a_number();
    if (a_infinite || b.is_zero()) return infinite(negative);
    Value result;
    result.negative = negative;
    if (b_infinite) return result;
    result.numerator = a.numerator;
    result.denominator = b.numerator;
    result.exponent = a.exponent - b.exponent;
    return result;
}

Value root(const Value& a) {
    if (a.kind == Value::Kind::nan || (a.negative && !a.is_zero())) return not_a_number();
    if (a.kind == Value::Kind::infinite || a.is_zero()) return a;
    Value result;
    const int shift = 256 + (a.exponent & 1);
    const Integer radicand = a.numerator << shift;
    Integer rest;
    result.numerator = boost::multiprecision::sqrt(radicand, rest) * 2 + (rest != 0 ? 1 : 0);
    result.exponent = (a.exponent - shift) / 2 - 1;
    return result;
}

Value integral(const Value& a, Mode mode) {
    if (a.kind != Value::Kind::finite || a.exponent >= 0) return a;
    const Integer unit = Integer(1) << -a.exponent;
    Value result;
    result.negative = a.negative;
    result.numerator = a.numerator / unit;
    const Integer twice = (a.numerator % unit) * 2;
    const bool inexact = twice != 0;
    if (mode == Mode::rn ? twice > unit || (twice == unit && (result.numerator & 1) != 0)
                         : inexact && mode == (a.negative ? Mode::rm : Mode::rp))
        result.numerator += 1;
    return result;
}

uint64_t flushed(uint64_t bits, const Format& format) {
    const uint64_t magnitude = bits & (format.sign_bit() - 1);
    return magnitude >> format.mantissa_bits == 0 ? bits & format.sign_bit() : bits;
}

bool is_tiny(const Value& value, const Format& format, Mode mode) {
    if (value.kind != Value::Kind::finite) return false;
    const Format endless{"", 15, format.mantissa_bits, 0};
    const uint64_t code = rounded(value, endless, mode) & (endless.sign_bit() - 1);
    const int least_normal = (1 << (endless.exponent_bits - 1)) - (1 << (format.exponent_bits - 1)) + 1;
    return static_cast<int>(code >> format.mantissa_bits) < least_normal;
}

uint64_t saturated(uint64_t bits, const Format& format) {
    const uint64_t one = (((uint64_t{1} << (format.exponent_bits - 1)) - 1) << format.mantissa_bits);
    const uint64_t magnitude = bits & (format.sign_bit() - 1);
    if (magnitude > format.infinity() || bits != magnitude) return 0;
    return std::min(magnitude, one);
}

}  // namespace exact

namespace {

using exact::Format;
using exact::Mode;
using exact::Value;

/// Bits of every kind: edges of the format, denormals, neighbours of one, and any.
class Draw {
 public:
    explicit Draw(const Format& format) : format_(format) {}
    uint64_t operator()() {
        const uint64_t any = random_() & (format_.sign_bit() * 2 - 1), infinity = format_.infinity();
        const uint64_t one = infinity / 2 & ~((uint64_t{1} << format_.mantissa_bits) - 1);
        const uint64_t edges[] = {0,
                                  1,
                                  infinity,
                                  infinity - 1,
                                  infinity + 1,
                                  one,
                                  one - 1,
                                  one + 1,
                                  (uint64_t{1} << format_.mantissa_bits) - 1,
                                  uint64_t{1} << format_.mantissa_bits};
        switch (random_() % 8) {
            case 0:
            case 1:
                return edges[random_() % std::size(edges)] | (any & format_.sign_bit());
            case 2:
                return any & (format_.sign_bit() | ((uint64_t{4} << format_.mantissa_bits) - 1));
            case 3:
            case 4:
                return (one - (uint64_t{8} << format_.mantissa_bits) + any % (uint64_t{16} << format_.mantissa_bits)) |
                       (any & format_.sign_bit());
            default:
                return any;
        }
    }

 private:
    const Format& format_;
    std::mt19937_64 random_{20261130};
};

/// What an f64 instruction gives for NaN operands: the first in the hardware's order, quiet. Other
/// formats give one NaN.
uint64_t with_nan_of(uint64_t result, const Format& format, std::initializer_list<uint64_t> operands) {
    if (format.bits() != 64 || (result & (format.sign_bit() - 1)) <= format.infinity()) return result;
    for (const uint64_t operand : operands)
        if ((operand & (format.sign_bit() - 1)) > format.infinity()) return operand | uint64_t{1} << 51;
    return result;
}

template <typename Bits>
void set_lanes(OpsMachine& machine, const char* name, const std::vector<uint64_t>& values) {
    machine.set(name, std::vector<Bits>(values.begin(), values.end()));
}

void put(OpsMachine& machine, const char* name, const std::vector<uint64_t>& values, int bits) {
    if (bits == 16)
        set_lanes<uint16_t>(machine, name, values);
    else if (bits == 32)
        set_lanes<uint32_t>(machine, name, values);
    else
        set_lanes<uint64_t>(machine, name, values);
}

uint64_t result_of_lane(OpsMachine& machine, int bits, uint32_t lane) {
    if (bits == 16) return machine.get<uint16_t>("d", lane);
    return bits == 32 ? machine.get<uint32_t>("d", lane) : machine.get<uint64_t>("d", lane);
}

struct Operation {
    std::string opcode;
    int sources;
    Value (*exact)(const Value&, const Value&, const Value&, Mode);
};
const Operation kSum{"add", 2,
                     [](const Value& a, const Value& b, const Value&, Mode mode) { return exact::sum(a, b, mode); }};
const Operation kDifference{"sub", 2, [](const Value& a, const Value& b, const Value&, Mode mode) {
                                Value negated = b;
                                negated.negative = !b.negative;
                                return exact::sum(a, negated, mode);
                            }};
const Operation kProduct{"mul", 2,
                         [](const Value& a, const Value& b, const Value&, Mode) { return exact::product(a, b); }};
const Operation kFused{"fma", 3, [](const Value& a, const Value& b, const Value& c, Mode mode) {
                           return exact::sum(exact::product(a, b), c, mode);
                       }};
const Operation kQuotient{"div", 2,
                          [](const Value& a, const Value& b, const Value&, Mode) { return exact::quotient(a, b); }};
const Operation kReciprocal{"rcp", 1, [](const Value& a, const Value&, const Value&, Mode) {
                                return exact::quotient(exact::value_of(0x3ff0000000000000, exact::kF64), a);
                            }};
const Operation kRoot{"sqrt", 1, [](const Value& a, const Value&, const Value&, Mode) { return exact::root(a); }};

struct Variant {
    Mode mode = Mode::rn;
    bool ftz = false, sat = false;
};

void compare(const Operation& operation, const Format& format, const Variant& how, int rounds) {
    const int bits = format.bits();
    OpsMachine machine = machine_of(bits, bits, bits, bits);
    const std::string opcode = operation.opcode + "." + exact::kModes[static_cast<int>(how.mode)] +
                               (how.ftz ? ".ftz" : "") + (how.sat ? ".sat" : "") + "." + format.name;
    const char* const operands[] = {"", " d, a;", " d, a, b;", " d, a, b, c;"};
    Draw draw(format);
    for (int round = 0; round < rounds; ++round) {
        std::vector<uint64_t> a(kLanes), b(kLanes), c(kLanes);
        for (auto* const values : {&a, &b, &c}) std::generate(values->begin(), values->end(), std::ref(draw));
        for (uint32_t i = 0; i < kLanes; i += 4) b[i] = a[i] ^ (i % 8 != 0 ? format.sign_bit() : 0) ^ (i & 1);
        put(machine, "a", a, bits);
        put(machine, "b", b, bits);
        put(machine, "c", c, bits);
        machine.run(opcode + operands[operation.sources]);
        for (uint32_t i = 0; i < kLanes; ++i) {
            const auto in = [&](uint64_t word) {
                return exact::value_of(how.ftz ? exact::flushed(word, format) : word, format);
            };
            const Value value = operation.exact(in(a[i]), in(b[i]), in(c[i]), how.mode);
            uint64_t wanted = exact::rounded(value, format, how.mode);
            if (operation.sources == 1) wanted = with_nan_of(wanted, format, {a[i]});
            if (operation.sources == 2)
                wanted = operation.opcode == "div" ? with_nan_of(wanted, format, {a[i], b[i]})
                                                   : with_nan_of(wanted, format, {b[i], a[i]});
            if (operation.sources == 3) wanted = with_nan_of(wanted, format, {b[i], c[i], a[i]});
            if (how.ftz && exact::is_tiny(value, format, how.mode)) wanted &= format.sign_bit();
            if (how.sat) wanted = exact::saturated(wanted, format);
            ASSERT_EQ(result_of_lane(machine, bits, i), wanted)
                << opcode << std::hex << " of " << a[i] << ' ' << b[i] << ' ' << c[i] << " should give " << wanted;
        }
    }
}

TEST(Exact, Single) {
    for (const Mode mode : {Mode::rn, Mode::rz, Mode::rm, Mode::rp}) {
        for (const bool ftz : {false, true}) {
            for (const Operation& operation : {kSum, kDifference, kProduct, kFused})
                for (const bool sat : {false, true}) compare(operation, exact::kF32, {mode, ftz, sat}, 40);
            for (const Operation& operation : {kQuotient, kReciprocal, kRoot})
                compare(operation, exact::kF32, {mode, ftz}, 40);
        }
    }
}

TEST(Exact, Double) {
    for (const Mode mode : {Mode::rn, Mode::rz, Mode::rm, Mode::rp})
        for (const Operation& operation : {kSum, kDifference, kProduct, kFused, kQuotient, kReciprocal, kRoot})
            compare(operation, exact::kF64, {mode}, 40);
}

TEST(Exact, Halves) {
    for (const Operation& operation : {kSum, kDifference, kProduct, kFused}) {
        for (const bool ftz : {false, true})
            for (const bool sat : {false, true}) compare(operation, exact::kF16, {Mode::rn, ftz, sat}, 100);
        compare(operation, exact::kBf16, {}, 100);
    }
}

// The forms of sm_100, which no GPU here has.
TEST(Exact, MixedPrecision) {
    for (const Format* narrow : {&exact::kF16, &exact::kBf16}) {
        OpsMachine machine = machine_of(16, 16, 32, 32);
        Draw halves(*narrow), singles(exact::kF32);
        for (const Mode mode : {Mode::rn, Mode::rz, Mode::rm, Mode::rp}) {
            for (int round = 0; round < 40; ++round) {
                std::vector<uint64_t> a(kLanes), b(kLanes), c(kLanes);
                for (auto* const values : {&a, &b}) std::generate(values->begin(), values->end(), std::ref(halves));
                std::generate(c.begin(), c.end(), std::ref(singles));
                put(machine, "a", a, 16);
                put(machine, "b", b, 16);
                put(machine, "c", c, 32);
                const std::string suffix = std::string(exact::kModes[static_cast<int>(mode)]) + ".f32." + narrow->name;
                const auto hold = [&](const std::string& statement, auto exactly) {
                    machine.run(statement);
                    for (uint32_t i = 0; i < kLanes; ++i) {
                        const Value value = exactly(exact::value_of(a[i], *narrow), exact::value_of(b[i], *narrow),
                                                    exact::value_of(c[i], exact::kF32));
                        ASSERT_EQ(machine.get<uint32_t>("d", i), exact::rounded(value, exact::kF32, mode))
                            << statement << std::hex << ' ' << a[i] << ' ' << b[i] << ' ' << c[i];
                    }
                };
                hold("add." + suffix + " d, a, c;",
                     [&](const Value& x, const Value&, const Value& z) { return exact::sum(x, z, mode); });
                hold("fma." + suffix + " d, a, b, c;", [&](const Value& x, const Value& y, const Value& z) {
                    return exact::sum(exact::product(x, y), z, mode);
                });
            }
        }
    }
}

TEST(Exact, PairsOfSingles) {
    const char* const kNames[] = {"a", "b", "c"};
    OpsMachine pairs = machine_of(64, 64, 64, 64), singles = machine_of(32, 32, 32, 32);
    Draw draw(exact::kF32);
    for (const char* opcode : {"add.rn", "add.rm.ftz", "mul.rz", "mul.rp.ftz", "fma.rn", "fma.rn.ftz", "fma.rm"}) {
        const std::string operands = opcode[0] == 'f' ? " d, a, b, c;" : " d, a, b;";
        for (int round = 0; round < 20; ++round) {
            std::vector<uint64_t> words[3];
            for (auto& values : words)
                for (uint32_t i = 0; i < kLanes; ++i) values.push_back(draw() | draw() << 32);
            for (int k = 0; k < 3; ++k) put(pairs, kNames[k], words[k], 64);
            pairs.run(std::string(opcode) + ".f32x2" + operands);
            for (const int shift : {0, 32}) {
                for (int k = 0; k < 3; ++k) {
                    std::vector<uint64_t> half = words[k];
                    for (uint64_t& word : half) word = word >> shift & 0xffffffff;
                    put(singles, kNames[k], half, 32);
                }
                singles.run(std::string(opcode) + ".f32" + operands);
                for (uint32_t i = 0; i < kLanes; ++i)
                    ASSERT_EQ(pairs.get<uint64_t>("d", i) >> shift & 0xffffffff, singles.get<uint32_t>("d", i))
                        << opcode;
            }
        }
    }
}

}  // namespace
}  // namespace recuda::vgpu
