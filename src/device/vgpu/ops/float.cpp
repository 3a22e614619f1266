// Arithmetic of f32 and f64 (PTX ISA 9.0, section 9.7.3). What an operation is: float_operations.h; f64:
// float_double.h; pairs and mixed precision: float_packed.h. The .approx instructions are functions.h's.
#include <vector>

#include "device/vgpu/decode.h"
#include "device/vgpu/ops/float.h"
#include "device/vgpu/ops/float_double.h"
#include "device/vgpu/ops/float_operations.h"
#include "device/vgpu/ops/float_packed.h"
#include "device/vgpu/ops/formats.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/modifiers.h"

namespace recuda::vgpu {
namespace {

using ptx::Statement;
using ptx::Type;

// ── f32 in four roundings, with flush and saturation ──

template <typename Operation, int sources, Rounding rounding, bool ftz, bool sat>
Handler single_handler() {
    if constexpr (sources == 1) {
        return lanes<[](float a) { return single_result<Operation, rounding, ftz, sat>(a); }>;
    } else if constexpr (sources == 2) {
        return lanes<[](float a, float b) { return single_result<Operation, rounding, ftz, sat>(a, b); }>;
    } else {
        return lanes<[](float a, float b, float c) { return single_result<Operation, rounding, ftz, sat>(a, b, c); }>;
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
