// Signs, order and classes of f32 and f64 (PTX ISA 9.0, sections 9.7.3.1, 2 and 9 to 12): neg, abs, copysign, min, max,
// testp.
#include <cmath>

#include "device/vgpu/ops/float.h"
#include "device/vgpu/ops/formats.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/modifiers.h"

namespace recuda::vgpu {
namespace {

using ptx::Statement;
using ptx::Type;

/// Sums with zero, as the hardware makes them: a NaN is f32's one NaN, or the operand made quiet, its sign kept.
void sign(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    in.mix = Mix::floating;
    const Type type = modifiers.type();
    const bool negates = statement.opcode() == "neg";
    if (type == Type::f64) {
        in.run = negates ? lanes<[](double a) { return with_payload(-a, a); }>
                         : lanes<[](double a) { return with_payload(std::fabs(a), a); }>;
    } else if (type == Type::f32) {
        if (modifiers.take("ftz")) {
            in.run = negates ? lanes<[](float a) { return output<true, false>(-a); }>
                             : lanes<[](float a) { return output<true, false>(std::fabs(a)); }>;
        } else {
            in.run = negates ? lanes<[](float a) { return canonical(-a); }>
                             : lanes<[](float a) { return canonical(std::fabs(a)); }>;
        }
    } else {
        not_mine();
    }
    modifiers.finish({2});
    set_operands(decoder, statement, in, type, {type});
}

/// b with the sign of a.
void copied_sign(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    in.mix = Mix::floating;
    const Type type = modifiers.type();
    if (type == Type::f32)
        in.run = lanes<[](uint32_t a, uint32_t b) { return (a & 0x80000000u) | (b & 0x7fffffffu); }>;
    else if (type == Type::f64)
        in.run = lanes<[](uint64_t a, uint64_t b) { return (a & 0x8000000000000000) | (b & 0x7fffffffffffffff); }>;
    else
        not_mine();
    modifiers.finish({3});
    set_operands(decoder, statement, in, type, {type, type});
}

template <bool maximum, bool keeps_nan, bool ftz>
Handler extreme_handler(bool magnitudes, bool three) {
    if (three) {
        if (magnitudes) {
            return lanes<[](float a, float b, float c) {
                const float ab = extreme<maximum, keeps_nan>(std::fabs(input<ftz>(a)), std::fabs(input<ftz>(b)));
                return extreme<maximum, keeps_nan>(ab, std::fabs(input<ftz>(c)));
            }>;
        }
        return lanes<[](float a, float b, float c) {
            return extreme<maximum, keeps_nan>(extreme<maximum, keeps_nan>(input<ftz>(a), input<ftz>(b)),
                                               input<ftz>(c));
        }>;
    }
    if (magnitudes)
        return lanes<[](float a, float b) {
            return extreme_of_magnitudes<maximum, keeps_nan>(input<ftz>(a), input<ftz>(b));
        }>;
    return lanes<[](float a, float b) { return extreme<maximum, keeps_nan>(input<ftz>(a), input<ftz>(b)); }>;
}

template <bool maximum>
double extreme_of_doubles(double a, double b) {
    const uint64_t x = bits_of(a), y = bits_of(b);
    const uint64_t equal = maximum ? x & y : x | y;
    const uint64_t ordered = (maximum ? a > b : a < b) ? x : (a == b ? equal : y);
    return as_double(is_nan(a) ? (is_nan(b) ? y | 0x0008000000000000 : y) : is_nan(b) ? x : ordered);
}

template <bool maximum>
void extreme_of_two_or_three(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    in.mix = Mix::floating;
    const Type type = modifiers.type();
    if (type == Type::f64) {
        in.run = lanes<extreme_of_doubles<maximum>>;
        modifiers.finish({3});
        return set_operands(decoder, statement, in, type, {type, type});
    }
    if (type != Type::f32) not_mine();
    const bool three = statement.operands.size() == 4;
    const bool ftz = modifiers.take("ftz"), keeps_nan = modifiers.take("NaN"), signs = modifiers.take("xorsign"),
               magnitudes = modifiers.take("abs");
    if (signs ? three || !magnitudes : magnitudes && !three) unsupported(statement);
    if (keeps_nan)
        in.run = ftz ? extreme_handler<maximum, true, true>(magnitudes, three)
                     : extreme_handler<maximum, true, false>(magnitudes, three);
    else
        in.run = ftz ? extreme_handler<maximum, false, true>(magnitudes, three)
                     : extreme_handler<maximum, false, false>(magnitudes, three);
    modifiers.finish({3, 4});
    if (three) return set_operands(decoder, statement, in, type, {type, type, type});
    set_operands(decoder, statement, in, type, {type, type});
}

template <typename T>
struct Layout;
template <>
struct Layout<uint32_t> {
    static constexpr uint32_t kExponent = 0x7f800000u, kMantissa = 0x007fffffu;
};
template <>
struct Layout<uint64_t> {
    static constexpr uint64_t kExponent = 0x7ff0000000000000, kMantissa = 0x000fffffffffffff;
};

enum class Class : uint8_t { finite, infinite, number, notanumber, normal, subnormal };

template <typename T>
bool is_of(Class which, T bits) {
    const T exponent = bits & Layout<T>::kExponent, mantissa = bits & Layout<T>::kMantissa;
    const bool top = exponent == Layout<T>::kExponent;
    switch (which) {
        case Class::finite:
            return !top;
        case Class::infinite:
            return top && mantissa == 0;
        case Class::number:
            return !(top && mantissa != 0);
        case Class::notanumber:
            return top && mantissa != 0;
        case Class::normal:
            return !top && (exponent != 0 || mantissa == 0);  // zeros count as normal
        default:
            return exponent == 0 && mantissa != 0;
    }
}

template <typename T>
void test_class(Warp& warp, const Instruction& in, Mask active) {
    const T* a = warp.lanes<T>(in.a);
    const auto which = static_cast<Class>(in.mode);
    set_predicate(warp, in.d, mask_of([&](uint32_t i) { return is_of(which, a[i]); }), active);
}

void class_test(Decoder& decoder, const Statement& statement, Instruction& in) {
    constexpr std::string_view kClasses[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
    Modifiers modifiers(statement);
    in.mix = Mix::compare;
    const Type type = modifiers.type();
    if (type != Type::f32 && type != Type::f64) not_mine();
    in.mode = 0xff;
    for (size_t i = 0; i < std::size(kClasses); ++i) {
        if (modifiers.take(kClasses[i])) in.mode = static_cast<uint8_t>(i);
    }
    if (in.mode == 0xff) unsupported(statement);
    in.run = type == Type::f32 ? test_class<uint32_t> : test_class<uint64_t>;
    modifiers.finish({2});
    set_operands(decoder, statement, in, Type::pred, {type});
}

constexpr OpRow kRows[] = {
    {"neg", sign},
    {"abs", sign},
    {"copysign", copied_sign},
    {"min", extreme_of_two_or_three<false>},
    {"max", extreme_of_two_or_three<true>},
    {"testp", class_test},
};

}  // namespace

std::span<const OpRow> float_order_rows() { return kRows; }

}  // namespace recuda::vgpu
