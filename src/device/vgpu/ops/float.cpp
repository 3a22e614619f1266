// f32 and f64 arithmetic (PTX ISA 9.0, section 9.7.3).
//
// f32: results that are NaN are the canonical one. Rounding to nearest is the host's own; the directed roundings compute in
// double, rounded to odd, and narrow once (formats.h). f64 has no wider type: directed roundings set the host's mode around
// a lane-by-lane loop. The .approx instructions are functions.h's.
#include <cfenv>
#include <cmath>
#include <limits>

#include "device/vgpu/decode.h"
#include "device/vgpu/ops/formats.h"
#include "device/vgpu/ops/functions.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/modifiers.h"

namespace recuda::vgpu {
namespace {

using ptx::Statement;
using ptx::Type;

// ── f32 in four roundings, with flush and saturation ───────────────────────────────────────────────────────────────────────

template <bool ftz>
float input(float x) {
    return ftz ? flushed(x) : x;
}
template <bool ftz, bool sat>
float output(float x) {
    if constexpr (sat) return saturated(ftz ? flushed(x) : x);
    return canonical(ftz ? flushed(x) : x);
}

/// An exact sum of zero is +0, or -0 when rounding down, unless both terms are zeros of one sign.
template <Rounding rounding>
double rounded_sum(double a, double b) {
    const double sum = sum_to_odd(a, b);
    if constexpr (rounding != Rounding::minus) return sum;
    const bool positive = (bits_of(a) | bits_of(b)) >> 63 == 0;
    return sum == 0 && !positive ? -0.0 : sum;
}

struct Add {
    template <Rounding rounding>
    static float apply(float a, float b) {
        if constexpr (rounding == Rounding::nearest) return a + b;
        else return narrowed<rounding>(rounded_sum<rounding>(a, b));
    }
    static double apply(double a, double b) { return a + b; }
};
struct Subtract {
    template <Rounding rounding>
    static float apply(float a, float b) {
        if constexpr (rounding == Rounding::nearest) return a - b;
        else return Add::apply<rounding>(a, -b);
    }
    static double apply(double a, double b) { return a - b; }
};
struct Multiply {
    template <Rounding rounding>
    static float apply(float a, float b) {
        if constexpr (rounding == Rounding::nearest) return a * b;
        else return narrowed<rounding>(static_cast<double>(a) * b);  // 48 digits: exact
    }
    static double apply(double a, double b) { return a * b; }
};
struct Divide {
    template <Rounding rounding>
    static float apply(float a, float b) {
        if constexpr (rounding == Rounding::nearest) return a / b;
        const double divisor = b, quotient = a / divisor;
        const double remainder = std::fma(-quotient, divisor, static_cast<double>(a));
        // The remainder is NaN where the quotient is infinite, NaN or divided by infinity: those are exact.
        const double error = as_double(bits_of(remainder) ^ (bits_of(divisor) & 0x8000000000000000));
        return narrowed<rounding>(to_odd(quotient, is_nan(remainder) ? 0.0 : error));
    }
    static double apply(double a, double b) { return a / b; }
};
struct FusedMultiplyAdd {
    template <Rounding rounding>
    static float apply(float a, float b, float c) {
        if constexpr (rounding == Rounding::nearest) return std::fma(a, b, c);
        else return narrowed<rounding>(rounded_sum<rounding>(static_cast<double>(a) * b, c));
    }
    static double apply(double a, double b, double c) { return std::fma(a, b, c); }
};
struct Reciprocal {
    template <Rounding rounding>
    static float apply(float a) {
        return Divide::apply<rounding>(1.0f, a);
    }
    static double apply(double a) { return 1.0 / a; }
};
struct SquareRoot {
    template <Rounding rounding>
    static float apply(float a) {
        if constexpr (rounding == Rounding::nearest) return std::sqrt(a);
        const double wide = a, root = std::sqrt(wide), remainder = std::fma(-root, root, wide);
        return narrowed<rounding>(to_odd(root, is_nan(remainder) ? 0.0 : remainder));
    }
    static double apply(double a) { return std::sqrt(a); }
};

template <typename Operation, int sources, Rounding rounding, bool ftz, bool sat>
Handler single_handler() {
    if constexpr (sources == 1) {
        return lanes<[](float a) { return output<ftz, sat>(Operation::template apply<rounding>(input<ftz>(a))); }>;
    } else if constexpr (sources == 2) {
        return lanes<[](float a, float b) {
            return output<ftz, sat>(Operation::template apply<rounding>(input<ftz>(a), input<ftz>(b)));
        }>;
    } else {
        return lanes<[](float a, float b, float c) {
            return output<ftz, sat>(Operation::template apply<rounding>(input<ftz>(a), input<ftz>(b), input<ftz>(c)));
        }>;
    }
}

template <typename Operation, int sources, Rounding rounding>
Handler single_handler(bool ftz, bool sat) {
    if (sat) return ftz ? single_handler<Operation, sources, rounding, true, true>() : single_handler<Operation, sources, rounding, false, true>();
    return ftz ? single_handler<Operation, sources, rounding, true, false>() : single_handler<Operation, sources, rounding, false, false>();
}

template <typename Operation, int sources>
Handler single_handler(Rounding rounding, bool ftz, bool sat) {
    switch (rounding) {
        case Rounding::nearest: return single_handler<Operation, sources, Rounding::nearest>(ftz, sat);
        case Rounding::zero: return single_handler<Operation, sources, Rounding::zero>(ftz, sat);
        case Rounding::minus: return single_handler<Operation, sources, Rounding::minus>(ftz, sat);
        default: return single_handler<Operation, sources, Rounding::plus>(ftz, sat);
    }
}

// ── f64 ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/// The host's rounding mode for the time of a loop. Operands and results of such a loop are volatile, so that nothing moves out of it.
class HostRounding {
 public:
    explicit HostRounding(Rounding rounding) : before_(std::fegetround()) {
        std::fesetround(rounding == Rounding::zero ? FE_TOWARDZERO : rounding == Rounding::minus ? FE_DOWNWARD : FE_UPWARD);
    }
    ~HostRounding() { std::fesetround(before_); }
    HostRounding(const HostRounding&) = delete;
    HostRounding& operator=(const HostRounding&) = delete;

 private:
    int before_;
};

template <typename Operation, int sources>
double operate(const double* a, const double* b, const double* c, uint32_t i) {
    const volatile double x = a[i], y = sources > 1 ? b[i] : 0.0, z = sources > 2 ? c[i] : 0.0;
    volatile double result;
    if constexpr (sources == 1) result = Operation::apply(x);
    else if constexpr (sources == 2) result = Operation::apply(x, y);
    else result = Operation::apply(x, y, z);
    return result;
}

template <typename Operation, int sources>
void directed_double(Warp& warp, const Instruction& in, Mask active) {
    const auto* a = warp.lanes<double>(in.a);
    const auto* b = sources > 1 ? warp.lanes<double>(in.b) : a;
    const auto* c = sources > 2 ? warp.lanes<double>(in.c) : a;
    alignas(64) double result[kLanes];
    {
        const HostRounding mode(static_cast<Rounding>(in.mode));
        for (uint32_t i = 0; i < kLanes; ++i) result[i] = operate<Operation, sources>(a, b, c, i);
    }
    for (uint32_t i = 0; i < kLanes; ++i) {
        if constexpr (sources == 1) result[i] = with_payload(result[i], a[i]);
        else if constexpr (sources == 2) result[i] = with_payload(result[i], a[i], b[i]);
        else result[i] = with_payload(result[i], a[i], b[i], c[i]);
    }
    blend(warp.lanes<double>(in.d), result, active);
}

template <typename Operation, int sources>
Handler double_handler(Rounding rounding) {
    if (rounding != Rounding::nearest) return directed_double<Operation, sources>;
    if constexpr (sources == 1) return lanes<[](double a) { return with_payload(Operation::apply(a), a); }>;
    else if constexpr (sources == 2) return lanes<[](double a, double b) { return with_payload(Operation::apply(a, b), a, b); }>;
    else return lanes<[](double a, double b, double c) { return with_payload(Operation::apply(a, b, c), a, b, c); }>;
}

// ── Pairs (f32x2) and mixed precision (f32 with f16 or bf16) ─────────────────────────────────────────────────────────────────

template <typename Operation, int sources, Rounding rounding, bool ftz>
void pair_of_singles(Warp& warp, const Instruction& in, Mask active) {
    const auto* a = warp.lanes<float>(in.a);
    const auto* b = warp.lanes<float>(in.b);
    alignas(64) float result[2 * kLanes];
    for (uint32_t i = 0; i < 2 * kLanes; ++i) {
        float value;
        if constexpr (sources == 2) value = Operation::template apply<rounding>(input<ftz>(a[i]), input<ftz>(b[i]));
        else value = Operation::template apply<rounding>(input<ftz>(a[i]), input<ftz>(b[i]), input<ftz>(warp.lanes<float>(in.c)[i]));
        result[i] = output<ftz, false>(value);
    }
    alignas(64) uint64_t words[kLanes];
    for (uint32_t i = 0; i < kLanes; ++i) words[i] = static_cast<uint64_t>(bits_of(result[2 * i + 1])) << 32 | bits_of(result[2 * i]);
    blend(warp.lanes<uint64_t>(in.d), words, active);
}

template <typename Operation, int sources, Rounding rounding>
Handler pair_handler(bool ftz) {
    return ftz ? pair_of_singles<Operation, sources, rounding, true> : pair_of_singles<Operation, sources, rounding, false>;
}

template <typename Operation, int sources>
Handler pair_handler(Rounding rounding, bool ftz) {
    switch (rounding) {
        case Rounding::nearest: return pair_handler<Operation, sources, Rounding::nearest>(ftz);
        case Rounding::zero: return pair_handler<Operation, sources, Rounding::zero>(ftz);
        case Rounding::minus: return pair_handler<Operation, sources, Rounding::minus>(ftz);
        default: return pair_handler<Operation, sources, Rounding::plus>(ftz);
    }
}

/// add.f32.f16 d, a, c and fma.f32.f16 d, a, b, c: the narrow factors are exact in f32.
template <typename Operation, int sources, Rounding rounding, float (*widened)(uint16_t), bool sat>
Handler mixed_handler() {
    if constexpr (sources == 2) {
        return lanes<[](uint16_t a, float b) { return output<false, sat>(Operation::template apply<rounding>(widened(a), b)); }>;
    } else {
        return lanes<[](uint16_t a, uint16_t b, float c) {
            return output<false, sat>(Operation::template apply<rounding>(widened(a), widened(b), c));
        }>;
    }
}

template <typename Operation, int sources, float (*widened)(uint16_t), bool sat>
Handler mixed_handler(Rounding rounding) {
    switch (rounding) {
        case Rounding::nearest: return mixed_handler<Operation, sources, Rounding::nearest, widened, sat>();
        case Rounding::zero: return mixed_handler<Operation, sources, Rounding::zero, widened, sat>();
        case Rounding::minus: return mixed_handler<Operation, sources, Rounding::minus, widened, sat>();
        default: return mixed_handler<Operation, sources, Rounding::plus, widened, sat>();
    }
}

template <typename Operation, int sources>
Handler mixed_handler(Rounding rounding, bool half, bool sat) {
    if (half) {
        return sat ? mixed_handler<Operation, sources, from_half, true>(rounding) : mixed_handler<Operation, sources, from_half, false>(rounding);
    }
    return sat ? mixed_handler<Operation, sources, from_bfloat, true>(rounding) : mixed_handler<Operation, sources, from_bfloat, false>(rounding);
}

// ── Decoding of the arithmetic ───────────────────────────────────────────────────────────────────────────────────────────────

void set_same(Decoder& decoder, const Statement& statement, Instruction& in, Type type, int sources) {
    if (sources == 1) set_operands(decoder, statement, in, type, {type});
    else if (sources == 2) set_operands(decoder, statement, in, type, {type, type});
    else set_operands(decoder, statement, in, type, {type, type, type});
}

template <typename Operation, int sources>
void decode_arithmetic(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    in.mix = sources == 3 ? Mix::fma : Mix::floating;
    if constexpr (sources > 1) {
        if (modifiers.take("f32x2")) {
            const Rounding rounding = take_rounding(modifiers);
            in.run = pair_handler<Operation, sources>(rounding, modifiers.take("ftz"));
            modifiers.finish({sources + 1});
            return set_same(decoder, statement, in, Type::b64, sources);
        }
    }
    const Type type = modifiers.type();
    if (type != Type::f32 && type != Type::f64 && !(modifiers.take("f32") && (type == Type::f16 || type == Type::bf16))) not_mine();
    const Rounding rounding = take_rounding(modifiers);
    if (type == Type::f64) {
        in.run = double_handler<Operation, sources>(rounding);
        in.mode = static_cast<uint8_t>(rounding);
    } else if (type == Type::f32) {
        const bool ftz = modifiers.take("ftz"), sat = modifiers.take("sat");
        in.run = single_handler<Operation, sources>(rounding, ftz, sat);
    } else if constexpr (sources > 1) {
        in.run = mixed_handler<Operation, sources>(rounding, type == Type::f16, modifiers.take("sat"));
        modifiers.finish({sources + 1});
        if constexpr (sources == 2) return set_operands(decoder, statement, in, Type::f32, {type, Type::f32});
        return set_operands(decoder, statement, in, Type::f32, {type, type, Type::f32});
    }
    modifiers.finish({sources + 1});
    set_same(decoder, statement, in, type, sources);
}

/// mad.f32 and mad.f64 of sm_20 and later are fma.
void decode_mad(Decoder& decoder, const Statement& statement, Instruction& in) {
    decode_arithmetic<FusedMultiplyAdd, 3>(decoder, statement, in);
}

// ── div, rcp, sqrt, rsqrt and the approximate functions ─────────────────────────────────────────────────────────────────────

/// a * (1 / b): above 2^126 the reciprocal is a flushed denormal, so the quotient is 0, or NaN of an infinity.
float approximate_quotient(float a, float b) {
    const float magnitude = std::fabs(b);
    const float quotient = a / b;
    const float beyond = a * as_float(bits_of(b) & 0x80000000u);
    return magnitude > 0x1p126f && magnitude < INFINITY ? beyond : quotient;
}

float reciprocal_root(float x) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x))); }

float sine_or_cosine(float x, int quadrants) {
    if (!(std::fabs(x) < kWaveLimit)) return canonical(static_cast<float>(quadrants == 0 ? std::sin(double{x}) : std::cos(double{x})));
    return wave_of(x, quadrants);
}

template <int quadrants, bool ftz>
void wave(Warp& warp, const Instruction& in, Mask active) {
    const auto* a = warp.lanes<float>(in.a);
    auto* d = warp.lanes<float>(in.d);
    bool small = true;
    for (uint32_t i = 0; i < kLanes; ++i) small &= std::fabs(a[i]) < kWaveLimit;
    if (small) for_lanes(d, active, [&](uint32_t i) { return output<ftz, false>(wave_of(input<ftz>(a[i]), quadrants)); });
    else for_active_lanes(d, active, [&](uint32_t i) { return output<ftz, false>(sine_or_cosine(input<ftz>(a[i]), quadrants)); });
}

template <float (*function)(float)>
Handler function_handler(bool ftz) {
    return ftz ? lanes<[](float a) { return output<true, false>(function(input<true>(a))); }>
               : lanes<[](float a) { return output<false, false>(function(a)); }>;
}

float reciprocal(float x) { return 1.0f / x; }
float root(float x) { return std::sqrt(x); }

/// rcp.approx.ftz.f64 and rsqrt.approx{.ftz}.f64: the upper 32 bits of the value, denormals flushed by .ftz, the lower 32 zero.
template <bool is_root, bool ftz>
double upper_word(double x) {
    const auto flush = [](double v) { return as_double((bits_of(v) & 0x7ff0000000000000) == 0 ? bits_of(v) & 0x8000000000000000 : bits_of(v)); };
    const double in = ftz ? flush(x) : x;
    const double exact = is_root ? 1.0 / std::sqrt(in) : 1.0 / in;
    const double result = ftz ? flush(exact) : exact;
    return is_nan(result) ? with_payload(result, x) : as_double(bits_of(result) & 0xffffffff00000000);
}

Handler approximate_single(std::string_view opcode, bool ftz) {
    if (opcode == "rcp") return function_handler<reciprocal>(ftz);
    if (opcode == "sqrt") return function_handler<root>(ftz);
    if (opcode == "rsqrt") return function_handler<reciprocal_root>(ftz);
    if (opcode == "ex2") return function_handler<exp2_of>(ftz);
    if (opcode == "lg2") return function_handler<log2_of>(ftz);
    if (opcode == "tanh") return function_handler<tanh_of>(ftz);
    if (opcode == "sin") return ftz ? wave<0, true> : wave<0, false>;
    return ftz ? wave<1, true> : wave<1, false>;
}

void decode_function(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    in.mix = Mix::special;
    const std::string_view opcode = statement.opcode();
    const Type type = modifiers.type();
    if (type != Type::f32 && type != Type::f64) not_mine();
    if (!modifiers.take("approx")) {
        if (opcode == "rcp") return decode_arithmetic<Reciprocal, 1>(decoder, statement, in);
        if (opcode == "sqrt") return decode_arithmetic<SquareRoot, 1>(decoder, statement, in);
        unsupported(statement);
    }
    const bool ftz = modifiers.take("ftz");
    if (type == Type::f32) in.run = approximate_single(opcode, ftz);
    else if (opcode == "rcp" && ftz) in.run = lanes<upper_word<false, true>>;
    else if (opcode == "rsqrt") in.run = ftz ? lanes<upper_word<true, true>> : lanes<upper_word<true, false>>;
    else unsupported(statement);
    modifiers.finish({2});
    set_operands(decoder, statement, in, type, {type});
}

void decode_divide(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    if (modifiers.type() != Type::f32) return decode_arithmetic<Divide, 2>(decoder, statement, in);
    const bool approximate = modifiers.take("approx"), full = modifiers.take("full");
    if (!approximate && !full) return decode_arithmetic<Divide, 2>(decoder, statement, in);
    in.mix = Mix::special;
    const bool ftz = modifiers.take("ftz");
    if (full) in.run = single_handler<Divide, 2, Rounding::nearest>(ftz, false);
    else if (ftz) in.run = lanes<[](float a, float b) { return output<true, false>(approximate_quotient(flushed(a), flushed(b))); }>;
    else in.run = lanes<[](float a, float b) { return canonical(approximate_quotient(a, b)); }>;
    modifiers.finish({3});
    set_operands(decoder, statement, in, Type::f32, {Type::f32, Type::f32});
}

// ── abs, neg, copysign, min, max, testp ─────────────────────────────────────────────────────────────────────────────────────

void decode_sign(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    in.mix = Mix::floating;
    const Type type = modifiers.type();
    const bool negates = statement.opcode() == "neg";
    if (type == Type::f64) {
        in.run = negates ? lanes<[](uint64_t a) { return a ^ 0x8000000000000000; }> : lanes<[](uint64_t a) { return a & 0x7fffffffffffffff; }>;
    } else if (type == Type::f32) {
        if (modifiers.take("ftz")) {
            in.run = negates ? lanes<[](float a) { return output<true, false>(-a); }> : lanes<[](float a) { return output<true, false>(std::fabs(a)); }>;
        } else {
            in.run = negates ? lanes<[](uint32_t a) { return a ^ 0x80000000u; }> : lanes<[](uint32_t a) { return a & 0x7fffffffu; }>;
        }
    } else {
        not_mine();
    }
    modifiers.finish({2});
    set_operands(decoder, statement, in, type, {type});
}

/// b with the sign of a.
void decode_copysign(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    in.mix = Mix::floating;
    const Type type = modifiers.type();
    if (type == Type::f32) in.run = lanes<[](uint32_t a, uint32_t b) { return (a & 0x80000000u) | (b & 0x7fffffffu); }>;
    else if (type == Type::f64) in.run = lanes<[](uint64_t a, uint64_t b) { return (a & 0x8000000000000000) | (b & 0x7fffffffffffffff); }>;
    else not_mine();
    modifiers.finish({3});
    set_operands(decoder, statement, in, type, {type, type});
}

template <bool maximum, bool keeps_nan, bool ftz>
Handler extreme_handler(bool magnitudes, bool three) {
    if (three) {
        if (magnitudes) {
            return lanes<[](float a, float b, float c) {
                const float ab = extreme_of_magnitudes<maximum, keeps_nan>(input<ftz>(a), input<ftz>(b));
                return extreme_of_magnitudes<maximum, keeps_nan>(ab, input<ftz>(c));
            }>;
        }
        return lanes<[](float a, float b, float c) {
            return extreme<maximum, keeps_nan>(extreme<maximum, keeps_nan>(input<ftz>(a), input<ftz>(b)), input<ftz>(c));
        }>;
    }
    if (magnitudes) return lanes<[](float a, float b) { return extreme_of_magnitudes<maximum, keeps_nan>(input<ftz>(a), input<ftz>(b)); }>;
    return lanes<[](float a, float b) { return extreme<maximum, keeps_nan>(input<ftz>(a), input<ftz>(b)); }>;
}

template <bool maximum>
double extreme_of_doubles(double a, double b) {
    const uint64_t x = bits_of(a), y = bits_of(b);
    const uint64_t equal = maximum ? x & y : x | y;
    const uint64_t ordered = (maximum ? a > b : a < b) ? x : (a == b ? equal : y);
    return as_double(is_nan(a) ? (is_nan(b) ? x | 0x0008000000000000 : y) : is_nan(b) ? x : ordered);
}

template <bool maximum>
void decode_extreme(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    in.mix = Mix::floating;
    const Type type = modifiers.type();
    if (type == Type::f64) {
        in.run = lanes<extreme_of_doubles<maximum>>;
        modifiers.finish({3});
        return set_same(decoder, statement, in, type, 2);
    }
    if (type != Type::f32) not_mine();
    const bool three = statement.operands.size() == 4;
    const bool ftz = modifiers.take("ftz"), keeps_nan = modifiers.take("NaN"), magnitudes = modifiers.take("xorsign") && modifiers.take("abs");
    if (keeps_nan) in.run = ftz ? extreme_handler<maximum, true, true>(magnitudes, three) : extreme_handler<maximum, true, false>(magnitudes, three);
    else in.run = ftz ? extreme_handler<maximum, false, true>(magnitudes, three) : extreme_handler<maximum, false, false>(magnitudes, three);
    modifiers.finish({3, 4});
    set_same(decoder, statement, in, type, three ? 3 : 2);
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
        case Class::finite: return !top;
        case Class::infinite: return top && mantissa == 0;
        case Class::number: return !(top && mantissa != 0);
        case Class::notanumber: return top && mantissa != 0;
        case Class::normal: return !top && (exponent != 0 || mantissa == 0);  // zeros count as normal
        default: return exponent == 0 && mantissa != 0;
    }
}

template <typename T>
void test_class(Warp& warp, const Instruction& in, Mask active) {
    const T* a = warp.lanes<T>(in.a);
    const auto which = static_cast<Class>(in.mode);
    set_predicate(warp, in.d, mask_of([&](uint32_t i) { return is_of(which, a[i]); }), active);
}

void decode_test(Decoder& decoder, const Statement& statement, Instruction& in) {
    constexpr std::string_view kClasses[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
    Modifiers modifiers(statement);
    in.mix = Mix::compare;
    const Type type = modifiers.type();
    if (type != Type::f32 && type != Type::f64) not_mine();
    in.mode = 0xff;
    for (uint8_t i = 0; i < std::size(kClasses); ++i) {
        if (modifiers.take(kClasses[i])) in.mode = i;
    }
    if (in.mode == 0xff) unsupported(statement);
    in.run = type == Type::f32 ? test_class<uint32_t> : test_class<uint64_t>;
    modifiers.finish({2});
    set_operands(decoder, statement, in, Type::pred, {type});
}

constexpr OpRow kRows[] = {
    {"add", decode_arithmetic<Add, 2>},
    {"sub", decode_arithmetic<Subtract, 2>},
    {"mul", decode_arithmetic<Multiply, 2>},
    {"fma", decode_arithmetic<FusedMultiplyAdd, 3>},
    {"mad", decode_mad},
    {"div", decode_divide},
    {"rcp", decode_function},
    {"sqrt", decode_function},
    {"rsqrt", decode_function},
    {"ex2", decode_function},
    {"lg2", decode_function},
    {"sin", decode_function},
    {"cos", decode_function},
    {"tanh", decode_function},
    {"abs", decode_sign},
    {"neg", decode_sign},
    {"copysign", decode_copysign},
    {"min", decode_extreme<false>},
    {"max", decode_extreme<true>},
    {"testp", decode_test},
};

}  // namespace

std::span<const OpRow> float_rows() { return kRows; }

}  // namespace recuda::vgpu
