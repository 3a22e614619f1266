// Comparison (PTX ISA 9.0, sections 9.7.6.1, 9.7.6.2 and 9.7.7): setp and set.
#include "device/vgpu/ops/compare.h"

#include "device/vgpu/ops/comparison.h"
#include "device/vgpu/ops/formats.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/modifiers.h"

namespace recuda::vgpu {
namespace {

using ptx::Operand;
using ptx::Statement;
using ptx::Type;

enum class Join : uint8_t { none, conjunction, disjunction, exclusive };

/// mode: how the result joins with predicate c, and whether c is inverted.
constexpr uint8_t kInverted = 4;

Mask joined(Mask result, Mask c, uint8_t mode) {
    if ((mode & kInverted) != 0) c = ~c;
    switch (static_cast<Join>(mode & 3)) {
        case Join::conjunction:
            return result & c;
        case Join::disjunction:
            return result | c;
        case Join::exclusive:
            return result ^ c;
        default:
            return result;
    }
}

// ── setp ──

/// The second destination, e, gets the comparison's opposite joined with c.
template <typename Reading, Comparison comparison>
void set_predicates(Warp& warp, const Instruction& in, Mask active) {
    const Mask result = test<Reading, comparison, 1, 0>(warp.registers + in.a, warp.registers + in.b);
    const Mask c = in.mode != 0 ? warp.predicate(in.c) : 0;
    set_predicate(warp, in.d, joined(result, c, in.mode), active);
    if (in.width != 0) set_predicate(warp, in.e, joined(~result, c, in.mode), active);
}

/// The tests of an instruction that is not worth a handler for each: `set`, and setp of packed halves.
struct Tests : Extra {
    Test low = nullptr, high = nullptr;  // high: of the upper halves
};

/// Packed: d for the lower halves, e for the upper ones.
void set_predicates_of_pairs(Warp& warp, const Instruction& in, Mask active) {
    const auto& tests = *static_cast<const Tests*>(in.extra);
    const Mask low = tests.low(warp.registers + in.a, warp.registers + in.b);
    const Mask high = tests.high(warp.registers + in.a, warp.registers + in.b);
    const Mask c = in.mode != 0 ? warp.predicate(in.c) : 0;
    set_predicate(warp, in.d, joined(low, c, in.mode), active);
    if (in.width != 0) set_predicate(warp, in.e, joined(high, c, in.mode), active);
}

// ── set ──

/// The destination's value for true is `immediate`.
template <typename D>
void set_values(Warp& warp, const Instruction& in, Mask active) {
    const Mask result = static_cast<const Tests*>(in.extra)->low(warp.registers + in.a, warp.registers + in.b);
    const Mask chosen = joined(result, in.mode != 0 ? warp.predicate(in.c) : 0, in.mode);
    const auto value = static_cast<D>(in.immediate);
    for_lanes(warp.lanes<D>(in.d), active, [&](uint32_t i) { return (chosen >> i & 1) != 0 ? value : D{0}; });
}

void set_values_of_pairs(Warp& warp, const Instruction& in, Mask active) {
    const auto& tests = *static_cast<const Tests*>(in.extra);
    const Mask c = in.mode != 0 ? warp.predicate(in.c) : 0;
    const Mask low = joined(tests.low(warp.registers + in.a, warp.registers + in.b), c, in.mode);
    const Mask high = joined(tests.high(warp.registers + in.a, warp.registers + in.b), c, in.mode);
    const auto value = static_cast<uint32_t>(in.immediate);
    for_lanes(warp.lanes<uint32_t>(in.d), active,
              [&](uint32_t i) { return (low >> i & 1) * value | ((high >> i & 1) * value) << 16; });
}

// ── Choosing the handler ──

struct Found {
    Handler predicates = nullptr;  // setp
    Test low = nullptr, high = nullptr;
};

template <typename Reading, Comparison comparison>
Found single() {
    return {set_predicates<Reading, comparison>, test<Reading, comparison, 1, 0>, nullptr};
}
template <typename Reading, Comparison comparison>
Found pair() {
    return {set_predicates_of_pairs, test<Reading, comparison, 2, 0>, test<Reading, comparison, 2, 1>};
}

template <typename Reading, bool packed, Comparison comparison>
Found handlers() {
    if constexpr (packed)
        return pair<Reading, comparison>();
    else
        return single<Reading, comparison>();
}

template <typename Reading, bool packed = false>
Found for_integer(Comparison comparison) {
    switch (comparison) {
        case Comparison::eq:
            return handlers<Reading, packed, Comparison::eq>();
        case Comparison::ne:
            return handlers<Reading, packed, Comparison::ne>();
        case Comparison::lt:
            return handlers<Reading, packed, Comparison::lt>();
        case Comparison::le:
            return handlers<Reading, packed, Comparison::le>();
        case Comparison::gt:
            return handlers<Reading, packed, Comparison::gt>();
        case Comparison::ge:
            return handlers<Reading, packed, Comparison::ge>();
        default:
            return {};
    }
}
template <typename Reading, bool packed = false>
Found for_float(Comparison comparison) {
    switch (comparison) {
        case Comparison::equ:
            return handlers<Reading, packed, Comparison::equ>();
        case Comparison::neu:
            return handlers<Reading, packed, Comparison::neu>();
        case Comparison::ltu:
            return handlers<Reading, packed, Comparison::ltu>();
        case Comparison::leu:
            return handlers<Reading, packed, Comparison::leu>();
        case Comparison::gtu:
            return handlers<Reading, packed, Comparison::gtu>();
        case Comparison::geu:
            return handlers<Reading, packed, Comparison::geu>();
        case Comparison::num:
            return handlers<Reading, packed, Comparison::num>();
        case Comparison::nan:
            return handlers<Reading, packed, Comparison::nan>();
        default:
            return for_integer<Reading, packed>(comparison);
    }
}

Found choose(const Statement& statement, Type type, Comparison comparison, bool ftz) {
    switch (type) {
        case Type::s16:
            return for_integer<Plain<int16_t>>(comparison);
        case Type::b16:
        case Type::u16:
            return for_integer<Plain<uint16_t>>(comparison);
        case Type::s32:
            return for_integer<Plain<int32_t>>(comparison);
        case Type::b32:
        case Type::u32:
            return for_integer<Plain<uint32_t>>(comparison);
        case Type::s64:
            return for_integer<Plain<int64_t>>(comparison);
        case Type::b64:
        case Type::u64:
            return for_integer<Plain<uint64_t>>(comparison);
        case Type::f32:
            return ftz ? for_float<FlushedSingle>(comparison) : for_float<Plain<float>>(comparison);
        case Type::f64:
            return for_float<Plain<double>>(comparison);
        case Type::f16:
            return ftz ? for_float<FlushedHalf>(comparison) : for_float<HalfValue>(comparison);
        case Type::f16x2:
            return ftz ? for_float<FlushedHalf, true>(comparison) : for_float<HalfValue, true>(comparison);
        case Type::bf16:
            return for_float<BfloatValue>(comparison);
        case Type::bf16x2:
            return for_float<BfloatValue, true>(comparison);
        default:
            unsupported(statement);
    }
}

Comparison take_comparison(Modifiers& modifiers, const Statement& statement) {
    for (size_t i = 0; i < std::size(kComparisons); ++i) {
        if (modifiers.take(kComparisons[i])) return static_cast<Comparison>(i);
    }
    for (const auto& [name, comparison] : kUnsigned) {
        if (modifiers.take(name)) return comparison;
    }
    unsupported(statement);
}

uint8_t take_join(Modifiers& modifiers, const Statement& statement) {
    Join join = Join::none;
    if (modifiers.take("and"))
        join = Join::conjunction;
    else if (modifiers.take("or"))
        join = Join::disjunction;
    else if (modifiers.take("xor"))
        join = Join::exclusive;
    if (join == Join::none) return 0;
    const bool inverted = statement.operands.size() > 3 && statement.operands[3].negated;
    return static_cast<uint8_t>(static_cast<uint8_t>(join) | (inverted ? kInverted : 0));
}

bool flushes(Type type) { return type == Type::f32 || type == Type::f16 || type == Type::f16x2; }

void keep_tests(Decoder& decoder, Instruction& in, const Found& found) {
    auto tests = std::make_unique<Tests>();
    tests->low = found.low;
    tests->high = found.high;
    in.extra = decoder.keep(std::move(tests));
}

void set_sources(Decoder& decoder, const Statement& statement, Instruction& in, Type type) {
    const bool halves = type == Type::f16 || type == Type::bf16;
    const Type storage = halves ? Type::b16 : type == Type::f16x2 || type == Type::bf16x2 ? Type::b32 : type;
    in.a = decoder.source(statement.operands[1], storage);
    in.b = decoder.source(statement.operands[2], storage);
    if (in.mode != 0) in.c = decoder.predicate(statement.operands[3]);
}

struct Truth {
    int64_t value;
    Type storage;
};

/// What `set` writes for true: -1 or 1.0 of the destination's type, or of each half.
Truth truth_of(const Statement& statement, Type destination, bool packed) {
    switch (destination) {
        case Type::u32:
        case Type::s32:
            return {packed ? int64_t{0xffff} : int64_t{0xffffffff}, Type::b32};
        case Type::u16:
        case Type::s16:
            return {0xffff, Type::b16};
        case Type::f32:
            return {0x3f800000, Type::b32};
        case Type::f16:
            return {0x3c00, Type::b16};
        case Type::bf16:
            return {0x3f80, Type::b16};
        case Type::f16x2:
            return {0x3c00, Type::b32};
        case Type::bf16x2:
            return {0x3f80, Type::b32};
        default:
            unsupported(statement);
    }
}

}  // namespace

void decode_set_predicate(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    in.mix = Mix::compare;
    const Comparison comparison = take_comparison(modifiers, statement);
    in.mode = take_join(modifiers, statement);
    const Type type = modifiers.type();
    const bool ftz = flushes(type) && modifiers.take("ftz");
    modifiers.finish({in.mode != 0 ? size_t{4} : size_t{3}});
    const Found found = choose(statement, type, comparison, ftz);
    if (found.low == nullptr) unsupported(statement);
    in.run = found.predicates;
    if (found.high != nullptr) keep_tests(decoder, in, found);
    set_sources(decoder, statement, in, type);
    const Operand& d = statement.operands[0];
    if (!d.elements.empty()) {
        in.width = 1;
        in.e = decoder.destination(d.elements[0], Type::pred);
    }
    in.d = decoder.destination(d, Type::pred);
}

void decode_set(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    in.mix = Mix::compare;
    const Comparison comparison = take_comparison(modifiers, statement);
    in.mode = take_join(modifiers, statement);
    const Type type = modifiers.type(), destination = modifiers.type();
    const bool ftz = flushes(type) && modifiers.take("ftz");
    modifiers.finish({in.mode != 0 ? size_t{4} : size_t{3}});
    const bool packed = type == Type::f16x2 || type == Type::bf16x2;
    if (!packed && (destination == Type::f16x2 || destination == Type::bf16x2)) unsupported(statement);
    const Truth truth = truth_of(statement, destination, packed);
    const Found found = choose(statement, type, comparison, ftz);
    if (found.low == nullptr) unsupported(statement);
    if (packed)
        in.run = set_values_of_pairs;
    else
        in.run = truth.storage == Type::b16 ? set_values<uint16_t> : set_values<uint32_t>;
    keep_tests(decoder, in, found);
    in.immediate = truth.value;
    set_sources(decoder, statement, in, type);
    in.d = decoder.destination(statement.operands[0], truth.storage);
}

}  // namespace recuda::vgpu
