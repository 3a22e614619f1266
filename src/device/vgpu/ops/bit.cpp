// Logic and shifts (PTX ISA 9.0, section 9.7.8).
#include <type_traits>
#include <vector>

#include "device/vgpu/ops/bit.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/modifiers.h"
#include "device/vgpu/ops/shift.h"

namespace recuda::vgpu {
namespace {

using ptx::Statement;
using ptx::Type;

// ── and, or, xor, not, cnot ──

enum class Logic : uint8_t { conjunction, disjunction, exclusive };

template <Logic logic, typename T>
T combined(T a, T b) {
    if constexpr (logic == Logic::conjunction)
        return a & b;
    else if constexpr (logic == Logic::disjunction)
        return a | b;
    else
        return a ^ b;
}

template <Logic logic>
void decode_logic(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    const Type type = modifiers.type();
    modifiers.finish({3});
    switch (type) {
        case Type::b16:
            in.run = lanes<combined<logic, uint16_t>>;
            break;
        case Type::b32:
            in.run = lanes<combined<logic, uint32_t>>;
            break;
        case Type::b64:
            in.run = lanes<combined<logic, uint64_t>>;
            break;
        case Type::pred:
            in.run = [](Warp& warp, const Instruction& i, Mask active) {
                const Mask a = warp.predicate(i.a) ^ (i.mode & 1 ? kFullMask : 0);
                const Mask b = warp.predicate(i.b) ^ (i.mode & 2 ? kFullMask : 0);
                set_predicate(warp, i.d, combined<logic>(a, b), active);
            };
            in.mode = static_cast<uint8_t>(statement.operands[1].negated | statement.operands[2].negated << 1);
            in.a = decoder.predicate(statement.operands[1]);
            in.b = decoder.predicate(statement.operands[2]);
            in.d = decoder.destination(statement.operands[0], Type::pred);
            return;
        default:
            unsupported(statement);
    }
    set_operands(decoder, statement, in, type, {type, type});
}

void decode_not(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    const Type type = modifiers.type();
    const bool logical = statement.opcode() == "cnot";
    modifiers.finish({2});
    const auto pick = [&]<typename T>(T) -> Handler {
        return logical ? lanes<[](T a) { return static_cast<T>(a == 0); }>
                       : lanes<[](T a) { return static_cast<T>(~a); }>;
    };
    switch (type) {
        case Type::b16:
            in.run = pick(uint16_t{});
            break;
        case Type::b32:
            in.run = pick(uint32_t{});
            break;
        case Type::b64:
            in.run = pick(uint64_t{});
            break;
        case Type::pred:
            if (logical) unsupported(statement);
            in.run = [](Warp& warp, const Instruction& i, Mask active) {
                set_predicate(warp, i.d, ~warp.predicate(i.a) ^ (i.mode != 0 ? kFullMask : 0), active);
            };
            in.mode = statement.operands[1].negated;
            in.a = decoder.predicate(statement.operands[1]);
            in.d = decoder.destination(statement.operands[0], Type::pred);
            return;
        default:
            unsupported(statement);
    }
    set_operands(decoder, statement, in, type, {type});
}

// ── lop3 ──

/// Bit k of the table is the result where bits of a, b, c make k = 4a + 2b + c. `bit(k)` is all ones or zero.
template <typename Bit>
uint32_t looked_up(uint32_t a, uint32_t b, uint32_t c, Bit bit) {
    const auto choose = [](uint32_t by, uint32_t yes, uint32_t no) { return no ^ (by & (yes ^ no)); };
    const uint32_t low = choose(b, choose(c, bit(3), bit(2)), choose(c, bit(1), bit(0)));
    const uint32_t high = choose(b, choose(c, bit(7), bit(6)), choose(c, bit(5), bit(4)));
    return choose(a, high, low);
}

/// A table known to the compiler.
template <uint8_t table>
uint32_t looked_up_in(uint32_t a, uint32_t b, uint32_t c) {
    return looked_up(a, b, c, [](uint32_t k) { return (table >> k & 1) != 0 ? ~0u : 0u; });
}

void lop3(Warp& warp, const Instruction& in, Mask active) {
    const auto* a = warp.lanes<uint32_t>(in.a);
    const auto* b = warp.lanes<uint32_t>(in.b);
    const auto* c = warp.lanes<uint32_t>(in.c);
    uint32_t bits[8];
    for (uint32_t k = 0; k < 8; ++k) bits[k] = (in.immediate >> k & 1) != 0 ? ~0u : 0u;
    for_lanes(warp.lanes<uint32_t>(in.d), active,
              [&](uint32_t i) { return looked_up(a[i], b[i], c[i], [&](uint32_t k) { return bits[k]; }); });
}

/// lop3.or and lop3.and: the predicate d|p is (result != 0) joined with a predicate (operand e), whose inversion is
/// mode bit 1.
struct Lop3Predicate : Extra {
    uint32_t predicate = 0;
};

template <Logic logic>
void lop3_with_predicate(Warp& warp, const Instruction& in, Mask active) {
    lop3(warp, in, active);
    const auto* d = warp.lanes<uint32_t>(in.d);
    const Mask nonzero = mask_of([&](uint32_t i) { return d[i] != 0; });
    const Mask other = warp.predicate(in.e) ^ (in.mode != 0 ? kFullMask : 0);
    set_predicate(warp, static_cast<const Lop3Predicate*>(in.extra)->predicate, combined<logic>(nonzero, other),
                  active);
}

Handler lop3_of(uint8_t table) {
    switch (table) {
        case 0x80:
            return lanes<looked_up_in<0x80>>;
        case 0x96:
            return lanes<looked_up_in<0x96>>;
        case 0xe8:
            return lanes<looked_up_in<0xe8>>;
        case 0xca:
            return lanes<looked_up_in<0xca>>;
        case 0xea:
            return lanes<looked_up_in<0xea>>;
        case 0xf8:
            return lanes<looked_up_in<0xf8>>;
        case 0xfe:
            return lanes<looked_up_in<0xfe>>;
        default:
            return lop3;
    }
}

void decode_lop3(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    const bool joins_or = modifiers.take("or"), joins_and = modifiers.take("and");
    if (modifiers.type() != Type::b32) unsupported(statement);
    modifiers.finish({joins_or || joins_and ? size_t{6} : size_t{5}});
    const ptx::Operand& table = statement.operands[4];
    if (table.kind != ptx::Operand::Kind::integer || table.bits > 0xff) unsupported(statement);
    in.immediate = static_cast<int64_t>(table.bits);
    in.run = lop3_of(static_cast<uint8_t>(table.bits));
    set_operands(decoder, statement, in, Type::b32, {Type::b32, Type::b32, Type::b32});
    if (!joins_or && !joins_and) return;
    if (statement.operands[0].elements.size() != 1) unsupported(statement);
    in.run = joins_or ? lop3_with_predicate<Logic::disjunction> : lop3_with_predicate<Logic::conjunction>;
    in.e = decoder.predicate(statement.operands[5]);
    in.mode = statement.operands[5].negated;
    auto extra = std::make_unique<Lop3Predicate>();
    extra->predicate = decoder.destination(statement.operands[0].elements[0], Type::pred);
    in.extra = decoder.keep(std::move(extra));
}

// ── shl, shr, shf ──

void decode_shift(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    const Type type = modifiers.type();
    const bool left = statement.opcode() == "shl";
    modifiers.finish({3});
    switch (type) {
        case Type::b16:
            in.run = left ? lanes<shifted_left<uint16_t>> : lanes<shifted_right<uint16_t>>;
            break;
        case Type::b32:
            in.run = left ? lanes<shifted_left<uint32_t>> : lanes<shifted_right<uint32_t>>;
            break;
        case Type::b64:
            in.run = left ? lanes<shifted_left<uint64_t>> : lanes<shifted_right<uint64_t>>;
            break;
        case Type::u16:
            in.run = left ? nullptr : lanes<shifted_right<uint16_t>>;
            break;
        case Type::u32:
            in.run = left ? nullptr : lanes<shifted_right<uint32_t>>;
            break;
        case Type::u64:
            in.run = left ? nullptr : lanes<shifted_right<uint64_t>>;
            break;
        case Type::s16:
            in.run = left ? nullptr : lanes<shifted_right<int16_t>>;
            break;
        case Type::s32:
            in.run = left ? nullptr : lanes<shifted_right<int32_t>>;
            break;
        case Type::s64:
            in.run = left ? nullptr : lanes<shifted_right<int64_t>>;
            break;
        default:
            break;
    }
    if (in.run == nullptr) unsupported(statement);
    set_operands(decoder, statement, in, type, {type, Type::u32});
}

/// The upper word of (b:a) << by, or the lower word of (b:a) >> by.
template <bool left, bool clamps>
uint32_t funnel(uint32_t a, uint32_t b, uint32_t by) {
    by = clamps ? (by < 32 ? by : 32) : by & 31;
    const uint64_t both = static_cast<uint64_t>(b) << 32 | a;
    return static_cast<uint32_t>(left ? both << by >> 32 : both >> by);
}

void decode_funnel(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    const bool left = modifiers.take("l"), clamps = modifiers.take("clamp");
    if ((!left && !modifiers.take("r")) || (!clamps && !modifiers.take("wrap"))) unsupported(statement);
    if (modifiers.type() != Type::b32) unsupported(statement);
    modifiers.finish({4});
    if (left)
        in.run = clamps ? lanes<funnel<true, true>> : lanes<funnel<true, false>>;
    else
        in.run = clamps ? lanes<funnel<false, true>> : lanes<funnel<false, false>>;
    set_operands(decoder, statement, in, Type::b32, {Type::b32, Type::b32, Type::b32});
}

constexpr OpRow kLogic[] = {
    {"and", decode_logic<Logic::conjunction>},
    {"or", decode_logic<Logic::disjunction>},
    {"xor", decode_logic<Logic::exclusive>},
    {"not", decode_not},
    {"cnot", decode_not},
    {"lop3", decode_lop3},
    {"shl", decode_shift},
    {"shr", decode_shift},
    {"shf", decode_funnel},
};

}  // namespace

std::span<const OpRow> bit_rows() {
    static const std::vector<OpRow> rows = [] {
        std::vector<OpRow> joined(std::begin(kLogic), std::end(kLogic));
        const auto fields = bit_field_rows();
        joined.insert(joined.end(), fields.begin(), fields.end());
        return joined;
    }();
    return rows;
}

}  // namespace recuda::vgpu
