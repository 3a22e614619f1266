// cvt between every pair of integer and float types in all roundings, held against exact rational numbers: all values
// of 16-bit sources, edges and random values of wider ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "device/vgpu/ops/exact_test_support.h"
#include "device/vgpu/ops/ops_test_support.h"

namespace recuda::vgpu {
namespace {

using exact::Format;
using exact::Integer;
using exact::Mode;
using exact::Value;

const Format* const kFloats[] = {&exact::kF16, &exact::kBf16, &exact::kF32, &exact::kF64};

struct IntegerType {
    std::string name;
    int bits;
    bool is_signed;

    Integer least() const { return is_signed ? Integer(-(Integer(1) << (bits - 1))) : Integer(0); }
    Integer most() const { return (Integer(1) << (bits - (is_signed ? 1 : 0))) - 1; }
};
const IntegerType kIntegers[] = {{"u8", 8, false},   {"s8", 8, true},   {"u16", 16, false}, {"s16", 16, true},
                                 {"u32", 32, false}, {"s32", 32, true}, {"u64", 64, false}, {"s64", 64, true}};

uint64_t low_bits(uint64_t word, int bits) { return bits == 64 ? word : word & ((uint64_t{1} << bits) - 1); }

/// All words of 16 bits; of wider types words around powers of two and random ones. A multiple of 32.
std::vector<uint64_t> words_of(int bits) {
    std::vector<uint64_t> words;
    if (bits <= 16) {
        for (uint64_t word = 0; word < uint64_t{1} << bits; ++word) words.push_back(word);
        return words;
    }
    std::mt19937_64 random(5);
    for (int i = 0; i < bits; ++i)
        for (int64_t offset = -2; offset <= 2; ++offset) {
            words.push_back(low_bits((uint64_t{1} << i) + static_cast<uint64_t>(offset), bits));
            words.push_back(low_bits(0 - (uint64_t{1} << i) + static_cast<uint64_t>(offset), bits));
        }
    while (words.size() < 4096) words.push_back(low_bits(random() >> (random() % 2 * (random() % 40)), bits));
    words.resize(words.size() / kLanes * kLanes);
    return words;
}

/// Random bits are rarely near an integer: mantissas with few digits, exponents around one.
std::vector<uint64_t> floats_of(const Format& format) {
    std::vector<uint64_t> words = words_of(format.bits());
    if (format.bits() == 16) return words;
    std::mt19937_64 random(6);
    for (size_t i = 0; i < words.size(); i += 2) {
        const uint64_t bias = (uint64_t{1} << (format.exponent_bits - 1)) - 1;
        const uint64_t few = (random() & 0xf) << (format.mantissa_bits - 4);
        const uint64_t mantissa = i % 4 == 0 ? few : (few - 1) & ((uint64_t{1} << format.mantissa_bits) - 1);
        words[i] = (random() & format.sign_bit()) | (bias - 30 + random() % 100) << format.mantissa_bits | mantissa;
    }
    return words;
}

int register_bits(int bits) { return std::max(16, bits); }

uint64_t word_of(OpsMachine& machine, int bits, uint32_t lane) {
    if (bits == 16) return machine.get<uint16_t>("d", lane);
    return bits == 32 ? machine.get<uint32_t>("d", lane) : machine.get<uint64_t>("d", lane);
}

/// Runs `opcode d, a` on every word and compares with `wanted(word)`.
template <typename F>
void compare(const std::string& opcode, int from_bits, int to_bits, const std::vector<uint64_t>& words, F wanted) {
    OpsMachine machine = machine_of(register_bits(from_bits), 32, 32, register_bits(to_bits));
    for (size_t at = 0; at < words.size(); at += kLanes) {
        const auto first = words.begin() + static_cast<std::ptrdiff_t>(at), last = first + kLanes;
        if (register_bits(from_bits) == 16)
            machine.set("a", std::vector<uint16_t>(first, last));
        else if (from_bits == 32)
            machine.set("a", std::vector<uint32_t>(first, last));
        else
            machine.set("a", std::vector<uint64_t>(first, last));
        machine.run(opcode + " d, a;");
        for (uint32_t i = 0; i < kLanes; ++i)
            ASSERT_EQ(word_of(machine, register_bits(to_bits), i), wanted(words[at + i]))
                << opcode << std::hex << " of " << words[at + i] << " should give " << wanted(words[at + i]);
    }
}

bool is_nan_word(uint64_t word, const Format& format) { return (word & (format.sign_bit() - 1)) > format.infinity(); }

TEST(ExactConvert, FloatsToIntegers) {
    const char* const modes[] = {"rni", "rzi", "rmi", "rpi"};
    for (const Format* from : kFloats) {
        const auto all = floats_of(*from);
        std::vector<uint64_t> some;  // of 16-bit sources a seventh goes to wide targets, which clamp little
        for (size_t i = 0; i < all.size(); i += 7) some.push_back(all[i]);
        some.resize(some.size() / kLanes * kLanes);
        for (const IntegerType& to : kIntegers) {
            const auto& words = from->bits() == 16 && to.bits > 16 ? some : all;
            for (int mode = 0; mode < 4; ++mode) {
                const auto wanted = [&](uint64_t word) -> uint64_t {
                    const int width = register_bits(to.bits);
                    if (is_nan_word(word, *from)) {
                        const bool zero = from->bits() != 64 && to.bits != 64;
                        const uint64_t top = uint64_t{1} << (to.bits - 1);
                        return zero ? 0 : (to.bits < 16 && to.is_signed ? low_bits(0 - top, width) : top);
                    }
                    const Value value = exact::integral(exact::value_of(word, *from), static_cast<Mode>(mode));
                    Integer number = value.exponent > 0 ? Integer(value.numerator << value.exponent) : value.numerator;
                    if (value.kind == Value::Kind::infinite) number = Integer(1) << 80;
                    if (value.negative) number = -number;
                    number = std::clamp(number, to.least(), to.most());
                    if (number < 0) number += Integer(1) << width;
                    return static_cast<uint64_t>(number);
                };
                compare("cvt." + std::string(modes[mode]) + "." + to.name + "." + from->name, from->bits(), to.bits,
                        words, wanted);
            }
        }
    }
}

TEST(ExactConvert, IntegersToFloats) {
    for (const IntegerType& from : kIntegers) {
        auto words = words_of(from.bits);
        if (from.bits == 16) words.erase(words.begin() + 4096, words.end() - 4096);
        for (const Format* to : kFloats) {
            for (int mode = 0; mode < 4; ++mode) {
                for (const bool sat : {false, true}) {
                    const auto wanted = [&](uint64_t word) {
                        Integer number = low_bits(word, from.bits);
                        if (number > from.most()) number -= Integer(1) << from.bits;
                        Value value;
                        value.negative = number < 0;
                        value.numerator = abs(number);
                        const uint64_t result = exact::rounded(value, *to, static_cast<Mode>(mode));
                        return sat ? exact::saturated(result, *to) : result;
                    };
                    compare(
                        "cvt." + std::string(exact::kModes[mode]) + (sat ? ".sat." : ".") + to->name + "." + from.name,
                        from.bits, to->bits(), words, wanted);
                }
            }
        }
    }
}

TEST(ExactConvert, NarrowingFloats) {
    const std::pair<const Format*, const Format*> pairs[] = {
        {&exact::kF32, &exact::kF16},  {&exact::kF32, &exact::kBf16}, {&exact::kF64, &exact::kF16},
        {&exact::kF64, &exact::kBf16}, {&exact::kF64, &exact::kF32},  {&exact::kF16, &exact::kBf16},
        {&exact::kBf16, &exact::kF16}};
    for (const auto& [from, to] : pairs) {
        auto words = floats_of(*from);
        // A NaN's payload is the differential suite's matter.
        std::erase_if(words, [&, format = from](uint64_t word) { return is_nan_word(word, *format); });
        words.resize(words.size() / kLanes * kLanes);
        for (int mode = 0; mode < 4; ++mode) {
            compare("cvt." + std::string(exact::kModes[mode]) + "." + to->name + "." + from->name, from->bits(),
                    to->bits(), words, [&, from = from, to = to](uint64_t word) {
                        return exact::rounded(exact::value_of(word, *from), *to, static_cast<Mode>(mode));
                    });
        }
    }
}

TEST(ExactConvert, Integral) {
    const char* const modes[] = {"rni", "rzi", "rmi", "rpi"};
    for (const Format* format : kFloats) {
        auto words = floats_of(*format);
        std::erase_if(words, [&](uint64_t word) { return is_nan_word(word, *format); });
        words.resize(words.size() / kLanes * kLanes);
        for (int mode = 0; mode < 4; ++mode) {
            compare("cvt." + std::string(modes[mode]) + "." + format->name + "." + format->name, format->bits(),
                    format->bits(), words, [&](uint64_t word) {
                        return exact::rounded(exact::integral(exact::value_of(word, *format), static_cast<Mode>(mode)),
                                              *format, Mode::rn);
                    });
        }
    }
}

}  // namespace
}  // namespace recuda::vgpu
