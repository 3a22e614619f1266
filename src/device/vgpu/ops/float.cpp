// f32 and f64 arithmetic (PTX ISA 9.0, section 9.7.3).
//
// f32: results that are NaN are the canonical one. Rounding to nearest is the host's own; the directed roundings
// compute in double, rounded to odd, and narrow once (formats.h). f64 has no wider type: directed roundings set the
// host's mode around a lane-by-lane loop. The .approx instructions are functions.h's.
#include <cfenv>
#include <cmath>
#include <vector>

#include "device/vgpu/decode.h"
#include "device/vgpu/ops/float.h"
#include "device/vgpu/ops/formats.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/modifiers.h"

namespace recuda::vgpu {
namespace {

using ptx::Statement;
using ptx::Type;

// ── f32 in four roundings, with flush and saturation ──

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
        if constexpr (rounding == Rounding::nearest)
            return a + b;
        else
            return narrowed<rounding>(rounded_sum<rounding>(a, b));
    }
    static double apply(double a, double b) { return a + b; }
};
struct Subtract {
    template <Rounding rounding>
    static float apply(float a, float b) {
        if constexpr (rounding == Rounding::nearest)
            return a - b;
        else
            return Add::apply<rounding>(a, -b);
    }
    static double apply(double a, double b) { return a - b; }
};
struct Multiply {
    template <Rounding rounding>
    static float apply(float a, float b) {
        if constexpr (rounding == Rounding::nearest)
            return a * b;
        else
            return narrowed<rounding>(static_cast<double>(a) * b);  // 48 digits: exact
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
        if constexpr (rounding == Rounding::nearest)
            return std::fma(a, b, c);
        else
            return narrowed<rounding>(rounded_sum<rounding>(static_cast<double>(a) * b, c));
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
    if (sat)
        return ftz ? single_handler<Operation, sources, rounding, true, true>()
                   : single_handler<Operation, sources, rounding, false, true>();
    return ftz ? single_handler<Operation, sources, rounding, true, false>()
               : single_handler<Operation, sources, rounding, false, false>();
}

template <typename Operation, int sources>
Handler single_handler(Rounding rounding, bool ftz, bool sat) {
    switch (rounding) {
        case Rounding::nearest:
            return single_handler<Operation, sources, Rounding::nearest>(ftz, sat);
        case Rounding::zero:
            return single_handler<Operation, sources, Rounding::zero>(ftz, sat);
        case Rounding::minus:
            return single_handler<Operation, sources, Rounding::minus>(ftz, sat);
        default:
            return single_handler<Operation, sources, Rounding::plus>(ftz, sat);
    }
}

// ── f64 ──

/// The host's rounding mode for the time of a loop. Operands and results of such a loop are volatile, so that nothing
/// moves out of it.
class HostRounding {
 public:
    explicit HostRounding(Rounding rounding) : before_(std::fegetround()) {
        std::fesetround(rounding == Rounding::zero    ? FE_TOWARDZERO
                        : rounding == Rounding::minus ? FE_DOWNWARD
                                                      : FE_UPWARD);
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
    if constexpr (sources == 1)
        result = Operation::apply(x);
    else if constexpr (sources == 2)
        result = Operation::apply(x, y);
    else
        result = Operation::apply(x, y, z);
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
        if constexpr (sources == 1)
            result[i] = with_payload(result[i], a[i]);
        else if constexpr (sources == 2)
            result[i] = with_payload(result[i], a[i], b[i]);
        else
            result[i] = with_payload(result[i], a[i], b[i], c[i]);
    }
    blend(warp.lanes<double>(in.d), result, active);
}

template <typename Operation, int sources>
Handler double_handler(Rounding rounding) {
    if (rounding != Rounding::nearest) return directed_double<Operation, sources>;
    if constexpr (sources == 1)
        return lanes<[](double a) { return with_payload(Operation::apply(a), a); }>;
    else if constexpr (sources == 2)
        return lanes<[](double a, double b) { return with_payload(Operation::apply(a, b), a, b); }>;
    else
        return lanes<[](double a, double b, double c) { return with_payload(Operation::apply(a, b, c), a, b, c); }>;
}

// ── Pairs (f32x2) and mixed precision (f32 with f16 or bf16) ──

template <typename Operation, int sources, Rounding rounding, bool ftz>
void pair_of_singles(Warp& warp, const Instruction& in, Mask active) {
    const auto* a = warp.lanes<float>(in.a);
    const auto* b = warp.lanes<float>(in.b);
    alignas(64) float result[2 * kLanes];
    for (uint32_t i = 0; i < 2 * kLanes; ++i) {
        float value;
        if constexpr (sources == 2)
            value = Operation::template apply<rounding>(input<ftz>(a[i]), input<ftz>(b[i]));
        else
            value = Operation::template apply<rounding>(input<ftz>(a[i]), input<ftz>(b[i]),
                                                        input<ftz>(warp.lanes<float>(in.c)[i]));
        result[i] = output<ftz, false>(value);
    }
    alignas(64) uint64_t words[kLanes];
    for (uint32_t i = 0; i < kLanes; ++i)
        words[i] = static_cast<uint64_t>(bits_of(result[2 * i + 1])) << 32 | bits_of(result[2 * i]);
    blend(warp.lanes<uint64_t>(in.d), words, active);
}

template <typename Operation, int sources, Rounding rounding>
Handler pair_handler(bool ftz) {
    return ftz ? pair_of_singles<Operation, sources, rounding, true>
               : pair_of_singles<Operation, sources, rounding, false>;
}

template <typename Operation, int sources>
Handler pair_handler(Rounding rounding, bool ftz) {
    switch (rounding) {
        case Rounding::nearest:
            return pair_handler<Operation, sources, Rounding::nearest>(ftz);
        case Rounding::zero:
            return pair_handler<Operation, sources, Rounding::zero>(ftz);
        case Rounding::minus:
            return pair_handler<Operation, sources, Rounding::minus>(ftz);
        default:
            return pair_handler<Operation, sources, Rounding::plus>(ftz);
    }
}

/// add.f32.f16 d, a, c and fma.f32.f16 d, a, b, c: the narrow factors are exact in f32.
template <typename Operation, int sources, Rounding rounding, float (*widened)(uint16_t), bool sat>
Handler mixed_handler() {
    if constexpr (sources == 2) {
        return lanes<[](uint16_t a, float b) {
            return output<false, sat>(Operation::template apply<rounding>(widened(a), b));
        }>;
    } else {
        return lanes<[](uint16_t a, uint16_t b, float c) {
            return output<false, sat>(Operation::template apply<rounding>(widened(a), widened(b), c));
        }>;
    }
}

template <typename Operation, int sources, float (*widened)(uint16_t), bool sat>
Handler mixed_handler(Rounding rounding) {
    switch (rounding) {
        case Rounding::nearest:
            return mixed_handler<Operation, sources, Rounding::nearest, widened, sat>();
        case Rounding::zero:
            return mixed_handler<Operation, sources, Rounding::zero, widened, sat>();
        case Rounding::minus:
            return mixed_handler<Operation, sources, Rounding::minus, widened, sat>();
        default:
            return mixed_handler<Operation, sources, Rounding::plus, widened, sat>();
    }
}

template <typename Operation, int sources>
Handler mixed_handler(Rounding rounding, bool half, bool sat) {
    if (half) {
        return sat ? mixed_handler<Operation, sources, from_half, true>(rounding)
                   : mixed_handler<Operation, sources, from_half, false>(rounding);
    }
    return sat ? mixed_handler<Operation, sources, from_bfloat, true>(rounding)
               : mixed_handler<Operation, sources, from_bfloat, false>(rounding);
}

// ── Decoding of the arithmetic ──

void set_same(Decoder& decoder, const Statement& statement, Instruction& in, Type type, int sources) {
    if (sources == 1)
        set_operands(decoder, statement, in, type, {type});
    else if (sources == 2)
        set_operands(decoder, statement, in, type, {type, type});
    else
        set_operands(decoder, statement, in, type, {type, type, type});
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
    if (type != Type::f32 && type != Type::f64 && !(modifiers.take("f32") && (type == Type::f16 || type == Type::bf16)))
        not_mine();
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

void decode_divide(Decoder& decoder, const Statement& statement, Instruction& in) {
    if (statement.has("approx") || statement.has("full")) return decode_approximate_divide(decoder, statement, in);
    decode_arithmetic<Divide, 2>(decoder, statement, in);
}

template <typename Operation>
void decode_reciprocal_or_root(Decoder& decoder, const Statement& statement, Instruction& in) {
    if (statement.has("approx")) return decode_function(decoder, statement, in);
    decode_arithmetic<Operation, 1>(decoder, statement, in);
}

constexpr OpRow kArithmetic[] = {
    {"add", decode_arithmetic<Add, 2>},
    {"sub", decode_arithmetic<Subtract, 2>},
    {"mul", decode_arithmetic<Multiply, 2>},
    {"fma", decode_arithmetic<FusedMultiplyAdd, 3>},
    {"mad", decode_mad},
    {"div", decode_divide},
    {"rcp", decode_reciprocal_or_root<Reciprocal>},
    {"sqrt", decode_reciprocal_or_root<SquareRoot>},
    {"rsqrt", decode_function},
    {"ex2", decode_function},
    {"lg2", decode_function},
    {"sin", decode_function},
    {"cos", decode_function},
    {"tanh", decode_function},
};

}  // namespace

std::span<const OpRow> float_rows() {
    static const std::vector<OpRow> rows = [] {
        std::vector<OpRow> joined(std::begin(kArithmetic), std::end(kArithmetic));
        const auto order = float_order_rows();
        joined.insert(joined.end(), order.begin(), order.end());
        return joined;
    }();
    return rows;
}

}  // namespace recuda::vgpu
