// The approximate functions of f32 and f64 (PTX ISA 9.0, sections 9.7.3.8 and 9.7.3.13 to 22); their mathematics is
// functions.h's.
#include <cmath>

#include "device/vgpu/ops/float.h"
#include "device/vgpu/ops/formats.h"
#include "device/vgpu/ops/functions.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/modifiers.h"

namespace recuda::vgpu {
namespace {

using ptx::Statement;
using ptx::Type;

/// a * (1 / b): above 2^126 the reciprocal is a flushed denormal, so the quotient is 0, or NaN of an infinity.
float approximate_quotient(float a, float b) {
    const float magnitude = std::fabs(b);
    const float quotient = a / b;
    const float beyond = a * as_float(bits_of(b) & 0x80000000u);
    return magnitude > 0x1p126f && magnitude < INFINITY ? beyond : quotient;
}

float reciprocal_root(float x) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x))); }

float sine(float x) { return wave_of(x, 0); }
float cosine(float x) { return wave_of(x, 1); }

template <float (*function)(float)>
Handler function_handler(bool ftz) {
    return ftz ? lanes<[](float a) { return output<true, false>(function(input<true>(a))); }>
               : lanes<[](float a) { return output<false, false>(function(a)); }>;
}

float reciprocal(float x) { return 1.0f / x; }
float root(float x) { return std::sqrt(x); }

/// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: of operand and result the upper 32 bits, denormals flushed, one NaN.
template <bool is_root>
double upper_word(double x) {
    constexpr uint64_t kUpper = 0xffffffff00000000;
    const auto flush = [](double v) {
        return as_double((bits_of(v) & 0x7ff0000000000000) == 0 ? bits_of(v) & 0x8000000000000000 : bits_of(v));
    };
    const double in = flush(as_double(bits_of(x) & kUpper));
    const double result = flush(is_root ? 1.0 / std::sqrt(in) : 1.0 / in);
    return as_double(is_nan(result) ? uint64_t{0x7fffffff00000000} : bits_of(result) & kUpper);
}

double reciprocal_root_of_double(double x) { return with_payload(1.0 / std::sqrt(x), x); }

Handler approximate_single(std::string_view opcode, bool ftz) {
    if (opcode == "rcp") return function_handler<reciprocal>(ftz);
    if (opcode == "sqrt") return function_handler<root>(ftz);
    if (opcode == "rsqrt") return function_handler<reciprocal_root>(ftz);
    if (opcode == "ex2") return function_handler<exp2_of>(ftz);
    if (opcode == "lg2") return function_handler<log2_of>(ftz);
    if (opcode == "tanh") return function_handler<tanh_of>(ftz);
    return opcode == "sin" ? function_handler<sine>(ftz) : function_handler<cosine>(ftz);
}

}  // namespace

void decode_function(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    in.mix = Mix::special;
    const std::string_view opcode = statement.opcode();
    const Type type = modifiers.type();
    if (type != Type::f32 && type != Type::f64) not_mine();
    if (!modifiers.take("approx")) unsupported(statement);
    const bool ftz = modifiers.take("ftz");
    if (type == Type::f32)
        in.run = approximate_single(opcode, ftz);
    else if (opcode == "rcp" && ftz)
        in.run = lanes<upper_word<false>>;
    else if (opcode == "rsqrt")
        in.run = ftz ? lanes<upper_word<true>> : lanes<reciprocal_root_of_double>;
    else
        unsupported(statement);
    modifiers.finish({2});
    set_operands(decoder, statement, in, type, {type});
}

void decode_approximate_divide(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    in.mix = Mix::special;
    if (modifiers.type() != Type::f32) unsupported(statement);
    const bool full = modifiers.take("full"), ftz = modifiers.take("ftz");
    modifiers.take("approx");
    modifiers.finish({3});
    if (full) {
        in.run = ftz ? lanes<[](float a, float b) { return output<true, false>(flushed(a) / flushed(b)); }>
                     : lanes<[](float a, float b) { return canonical(a / b); }>;
    } else {
        in.run = ftz ? lanes<[](float a, float b) {
            return output<true, false>(approximate_quotient(flushed(a), flushed(b)));
        }>
                     : lanes<[](float a, float b) { return canonical(approximate_quotient(a, b)); }>;
    }
    set_operands(decoder, statement, in, Type::f32, {Type::f32, Type::f32});
}

}  // namespace recuda::vgpu
