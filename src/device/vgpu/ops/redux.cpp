// Reductions over the lanes of a warp (PTX ISA 9.0, section 9.7.13.12).
#include <algorithm>
#include <cmath>

#include "device/vgpu/ops/formats.h"
#include "device/vgpu/ops/modifiers.h"
#include "device/vgpu/ops/warp_members.h"

namespace recuda::vgpu {
namespace {

using ptx::Statement;
using ptx::Type;

template <auto F>
void reduce(Warp& warp, const Instruction& in, Mask active) {
    gather(warp, in, active, [&](Mask lanes, Mask) {
        const uint32_t* a = warp.lanes<uint32_t>(in.a);
        uint32_t result = a[first_lane(lanes)];
        for (Mask rest = lanes & (lanes - 1); rest != 0; rest &= rest - 1) result = F(result, a[first_lane(rest)]);
        for_lanes(warp.lanes<uint32_t>(in.d), lanes, [&](uint32_t) { return result; });
        return true;
    });
}

/// NaN loses against a number or, with `keeps_nan`, wins; the result of NaN alone is the canonical one.
template <bool maximum, bool keeps_nan, bool magnitudes>
void reduce_floats(Warp& warp, const Instruction& in, Mask active) {
    gather(warp, in, active, [&](Mask lanes, Mask) {
        const float* a = warp.lanes<float>(in.a);
        const auto value = [&](uint32_t lane) { return magnitudes ? std::fabs(a[lane]) : a[lane]; };
        float result = canonical(value(first_lane(lanes)));
        for (Mask rest = lanes & (lanes - 1); rest != 0; rest &= rest - 1)
            result = extreme<maximum, keeps_nan>(result, value(first_lane(rest)));
        for_lanes(warp.lanes<float>(in.d), lanes, [&](uint32_t) { return result; });
        return true;
    });
}

template <bool maximum>
Handler reduce_floats_by(bool magnitudes, bool keeps_nan) {
    if (keeps_nan) return magnitudes ? reduce_floats<maximum, true, true> : reduce_floats<maximum, true, false>;
    return magnitudes ? reduce_floats<maximum, false, true> : reduce_floats<maximum, false, false>;
}

Handler reduce_floats_by(std::string_view operation, bool magnitudes, bool keeps_nan) {
    if (operation == "min") return reduce_floats_by<false>(magnitudes, keeps_nan);
    if (operation == "max") return reduce_floats_by<true>(magnitudes, keeps_nan);
    throw Unsupported("this operation");
}

}  // namespace

void decode_redux(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    if (!modifiers.take("sync")) throw Unsupported("this form");
    using U = uint32_t;
    using S = int32_t;
    std::string_view operation;
    for (const auto name : {"add", "min", "max", "and", "or", "xor"})
        if (modifiers.take(name)) operation = name;
    const Type type = modifiers.type();
    const bool magnitudes = type == Type::f32 && modifiers.take("abs"),
               keeps_nan = type == Type::f32 && modifiers.take("NaN");
    modifiers.finish({3});
    if (type != Type::u32 && type != Type::s32 && type != Type::b32 && type != Type::f32)
        throw Unsupported("this type");
    const bool is_signed = type == Type::s32;
    if (type == Type::f32)
        in.run = reduce_floats_by(operation, magnitudes, keeps_nan);
    else if (operation == "add")
        in.run = reduce<[](U a, U b) { return a + b; }>;
    else if (operation == "and")
        in.run = reduce<[](U a, U b) { return a & b; }>;
    else if (operation == "or")
        in.run = reduce<[](U a, U b) { return a | b; }>;
    else if (operation == "xor")
        in.run = reduce<[](U a, U b) { return a ^ b; }>;
    else if (operation == "min" && is_signed)
        in.run = reduce<[](U a, U b) { return static_cast<U>(std::min(static_cast<S>(a), static_cast<S>(b))); }>;
    else if (operation == "max" && is_signed)
        in.run = reduce<[](U a, U b) { return static_cast<U>(std::max(static_cast<S>(a), static_cast<S>(b))); }>;
    else if (operation == "min")
        in.run = reduce<[](U a, U b) { return std::min(a, b); }>;
    else if (operation == "max")
        in.run = reduce<[](U a, U b) { return std::max(a, b); }>;
    else
        throw Unsupported("this operation");
    in.d = decoder.destination(statement.operands[0], Type::b32);
    in.a = decoder.source(statement.operands[1], Type::b32);
    in.e = decoder.source(statement.operands[2], Type::b32);
    in.mix = Mix::warp;
}

}  // namespace recuda::vgpu
