// Selection (PTX ISA 9.0, sections 9.7.6.3 and 9.7.6.4): selp, slct.
#include "device/vgpu/decode.h"
#include "device/vgpu/ops/compare.h"
#include "device/vgpu/ops/formats.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/modifiers.h"

namespace recuda::vgpu {
namespace {

using ptx::Statement;
using ptx::Type;

template <typename T>
void select_by_predicate(Warp& warp, const Instruction& in, Mask active) {
    const T* a = warp.lanes<T>(in.a);
    const T* b = warp.lanes<T>(in.b);
    const Mask chosen = warp.predicate(in.c) ^ (in.mode != 0 ? kFullMask : 0);
    T* d = warp.lanes<T>(in.d);
    if (active == kFullMask) {
        choose_lanes(d, a, b, chosen);
    } else {
        alignas(64) T result[kLanes];
        choose_lanes(result, a, b, chosen);
        blend(d, result, active);
    }
}

void decode_select(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    in.mix = Mix::move;
    const Type type = modifiers.type();
    modifiers.finish({4});
    switch (ptx::size_bytes(type)) {
        case 2:
            in.run = select_by_predicate<uint16_t>;
            break;
        case 4:
            in.run = select_by_predicate<uint32_t>;
            break;
        case 8:
            in.run = select_by_predicate<uint64_t>;
            break;
        default:
            unsupported(statement);
    }
    set_operands(decoder, statement, in, type, {type, type});
    in.c = decoder.predicate(statement.operands[3]);
    in.mode = statement.operands[3].negated;
}

/// a where c >= 0 (-0 counts, a NaN does not), else b.
template <typename T, typename C, bool ftz>
T selected_by_sign(T a, T b, C c) {
    if constexpr (ftz) c = flushed(c);
    return c >= C{0} ? a : b;
}

template <typename C, bool ftz>
Handler select_by_sign(const Statement& statement, Type type) {
    switch (ptx::size_bytes(type)) {
        case 2:
            return lanes<selected_by_sign<uint16_t, C, ftz>>;
        case 4:
            return lanes<selected_by_sign<uint32_t, C, ftz>>;
        case 8:
            return lanes<selected_by_sign<uint64_t, C, ftz>>;
        default:
            unsupported(statement);
    }
}

void decode_select_by_sign(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    in.mix = Mix::move;
    const Type by = modifiers.type(), type = modifiers.type();
    const bool ftz = by == Type::f32 && modifiers.take("ftz");
    modifiers.finish({4});
    if (by == Type::s32)
        in.run = select_by_sign<int32_t, false>(statement, type);
    else if (by == Type::f32)
        in.run = ftz ? select_by_sign<float, true>(statement, type) : select_by_sign<float, false>(statement, type);
    else
        unsupported(statement);
    set_operands(decoder, statement, in, type, {type, type, by});
}

constexpr OpRow kRows[] = {
    {"setp", decode_set_predicate}, {"set", decode_set}, {"selp", decode_select}, {"slct", decode_select_by_sign}};

}  // namespace

std::span<const OpRow> select_rows() { return kRows; }

}  // namespace recuda::vgpu
