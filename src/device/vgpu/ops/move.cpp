// mov with packing and unpacking, addresses and special registers; cvta, isspacep; clocks.
#include <bit>
#include <cstring>
#include <optional>

#include "device/vgpu/block.h"
#include "device/vgpu/memory/access.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/modifiers.h"
#include "device/vgpu/program.h"

namespace recuda::vgpu {
namespace {

using Kind = ptx::Operand::Kind;

void move_predicate(Warp& warp, const Instruction& in, Mask active) {
    const Mask value = warp.predicate(in.a);
    set_predicate(warp, in.d, in.mode ? ~value : value, active);
}

void move_wide(Warp& warp, const Instruction& in, Mask active) {
    std::byte *d = warp.registers + in.d, *a = warp.registers + in.a;
    for (Mask rest = active; rest != 0; rest &= rest - 1)
        std::memmove(d + first_lane(rest) * 16, a + first_lane(rest) * 16, 16);
}

Handler move_of(uint32_t bytes) {
    switch (bytes) {
        case 2:
            return lanes<[](uint16_t a) -> uint16_t { return a; }>;
        case 4:
            return lanes<[](uint32_t a) -> uint32_t { return a; }>;
        case 8:
            return lanes<[](uint64_t a) -> uint64_t { return a; }>;
        case 16:
            return move_wide;
    }
    throw Unsupported("a move of this size");
}

/// The parts of a packed register: offsets of the elements, and their size in bytes.
struct Parts : Extra {
    std::vector<uint32_t> offsets;
    uint32_t bytes = 0;
    uint32_t stride = 0;  // of a part's register from lane to lane: 2 for a part of 1 byte
    uint32_t whole_bytes = 0;
};

void pack(Warp& warp, const Instruction& in, Mask active) {
    const auto& parts = static_cast<const Parts&>(*in.extra);
    // A part may be the destination itself: all lanes are gathered first.
    alignas(64) std::byte whole[kLanes * 16];
    for (size_t i = 0; i < parts.offsets.size(); ++i)
        for (uint32_t lane = 0; lane < kLanes; ++lane)
            std::memcpy(whole + lane * parts.whole_bytes + i * parts.bytes,
                        warp.registers + parts.offsets[i] + lane * parts.stride, parts.bytes);
    for (Mask rest = active; rest != 0; rest &= rest - 1) {
        const uint32_t at = first_lane(rest) * parts.whole_bytes;
        std::memcpy(warp.registers + in.d + at, whole + at, parts.whole_bytes);
    }
}

void unpack(Warp& warp, const Instruction& in, Mask active) {
    const auto& parts = static_cast<const Parts&>(*in.extra);
    alignas(64) std::byte whole[kLanes * 16];
    std::memcpy(whole, warp.registers + in.a, kLanes * parts.whole_bytes);
    for (size_t i = 0; i < parts.offsets.size(); ++i)
        for (Mask rest = active; rest != 0; rest &= rest - 1) {
            const uint32_t lane = first_lane(rest);
            std::memset(warp.registers + parts.offsets[i] + lane * parts.stride, 0, parts.stride);
            std::memcpy(warp.registers + parts.offsets[i] + lane * parts.stride,
                        whole + lane * parts.whole_bytes + i * parts.bytes, parts.bytes);
        }
}

template <typename Part, typename Whole>
void pack_two(Warp& warp, const Instruction& in, Mask active) {
    const Part *a = warp.lanes<Part>(in.a), *b = warp.lanes<Part>(in.b);
    for_lanes(warp.lanes<Whole>(in.d), active,
              [&](uint32_t i) { return static_cast<Whole>(a[i] | Whole{b[i]} << (8 * sizeof(Part))); });
}

template <typename Part, typename Whole>
void unpack_two(Warp& warp, const Instruction& in, Mask active) {
    const Whole* a = warp.lanes<Whole>(in.a);
    for_lanes(warp.lanes<Part>(in.d), active, [&](uint32_t i) { return static_cast<Part>(a[i]); });
    for_lanes(warp.lanes<Part>(in.b), active,
              [&](uint32_t i) { return static_cast<Part>(a[i] >> (8 * sizeof(Part))); });
}

ptx::Type bits_of(uint32_t bytes) {
    switch (bytes) {
        case 1:
        case 2:
            return ptx::Type::b16;
        case 4:
            return ptx::Type::b32;
        case 8:
            return ptx::Type::b64;
        case 16:
            return ptx::Type::b128;
    }
    throw Unsupported("a part of this size");
}

void decode_pack(Decoder& decoder, const ptx::Statement& statement, Instruction& in, uint32_t bytes) {
    const bool packs = statement.operands[1].kind == Kind::vector;
    const auto& elements = statement.operands[packs ? 1 : 0].elements;
    if (elements.size() < 2 || elements.size() > 8 || bytes % elements.size() != 0) throw Unsupported("this packing");
    const uint32_t part = bytes / elements.size();
    auto parts = std::make_unique<Parts>();
    parts->bytes = part;
    parts->stride = std::max(2u, part);
    parts->whole_bytes = bytes;
    for (const auto& element : elements)
        parts->offsets.push_back(packs ? decoder.source(element, bits_of(part))
                                       : decoder.destination(element, bits_of(part)));
    if (packs)
        in.d = decoder.destination(statement.operands[0], bits_of(bytes));
    else
        in.a = decoder.source(statement.operands[1], bits_of(bytes));
    in.run = packs ? pack : unpack;
    // The two common forms by whole vectors; unpacking into its own source would overwrite it half-way.
    const bool overlaps = !packs && (parts->offsets[0] == in.a || parts->offsets[1] == in.a);
    if (elements.size() == 2 && bytes >= 4 && bytes <= 8 && !overlaps) {
        (packs ? in.a : in.d) = parts->offsets[0];
        in.b = parts->offsets[1];
        if (packs)
            in.run = bytes == 8 ? pack_two<uint32_t, uint64_t> : pack_two<uint16_t, uint32_t>;
        else
            in.run = bytes == 8 ? unpack_two<uint32_t, uint64_t> : unpack_two<uint16_t, uint32_t>;
        return;
    }
    in.extra = decoder.keep(std::move(parts));
}

struct Moves : Extra {
    std::vector<std::pair<uint32_t, uint32_t>> pairs;  // destination, source
    uint32_t bytes = 0;
};

void move_vector(Warp& warp, const Instruction& in, Mask active) {
    const auto& moves = static_cast<const Moves&>(*in.extra);
    std::byte values[8][kLanes * 16];
    for (size_t i = 0; i < moves.pairs.size(); ++i)
        std::memcpy(values[i], warp.registers + moves.pairs[i].second, kLanes * moves.bytes);
    for (size_t i = 0; i < moves.pairs.size(); ++i)
        for (Mask rest = active; rest != 0; rest &= rest - 1)
            std::memcpy(warp.registers + moves.pairs[i].first + first_lane(rest) * moves.bytes,
                        values[i] + first_lane(rest) * moves.bytes, moves.bytes);
}

enum class Clock : uint8_t { low, high, whole };

constexpr uint8_t kTimerScale = 2;

/// Instructions that the block has run so far, from a start that differs from block to block and run to run.
void read_clock(Warp& warp, const Instruction& in, Mask active) {
    const Block& block = *warp.block;
    const uint64_t start = (block.launch->seed + block.launch->schedule + block.linear + 1) * 0x9e3779b97f4a7c15u >> 20;
    const uint64_t now =
        (in.width == kTimerScale ? block.launch->timer : 0) + start +
        4 * (block.executed + static_cast<uint64_t>(-warp.budget) + warp.pc + (uint64_t{1} << 32)) * in.width;
    for (Mask rest = active; rest != 0; rest &= rest - 1) {
        const uint32_t lane = first_lane(rest);
        switch (static_cast<Clock>(in.mode)) {
            case Clock::low:
                warp.lanes<uint32_t>(in.d)[lane] = static_cast<uint32_t>(now);
                break;
            case Clock::high:
                warp.lanes<uint32_t>(in.d)[lane] = static_cast<uint32_t>(now >> 32);
                break;
            case Clock::whole:
                warp.lanes<uint64_t>(in.d)[lane] = now;
                break;
        }
    }
}

bool decode_clock(Decoder& decoder, const ptx::Statement& statement, Instruction& in, uint32_t bytes) {
    struct Row {
        std::string_view name;
        Clock part;
        uint8_t scale;
    };
    static constexpr Row kRows[] = {{"%clock", Clock::low, 1},
                                    {"%clock_hi", Clock::high, 1},
                                    {"%clock64", Clock::whole, 1},
                                    {"%globaltimer", Clock::whole, kTimerScale},
                                    {"%globaltimer_lo", Clock::low, kTimerScale},
                                    {"%globaltimer_hi", Clock::high, kTimerScale}};
    for (const Row& row : kRows) {
        if (statement.operands[1].text != row.name) continue;
        if (bytes != (row.part == Clock::whole ? 8u : 4u)) throw Unsupported("a clock of this size");
        in.d = decoder.destination(statement.operands[0], bytes == 8 ? ptx::Type::u64 : ptx::Type::u32);
        in.mode = static_cast<uint8_t>(row.part);
        in.width = row.scale;
        in.run = read_clock;
        in.mix = Mix::special;
        return true;
    }
    return false;
}

void decode_mov(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    modifiers.take("volatile");
    const bool vector = modifiers.take("v2") || modifiers.take("v4") || modifiers.take("v8");
    const ptx::Type type = modifiers.type();
    modifiers.finish({2});
    in.mix = Mix::move;
    const auto &to = statement.operands[0], &from = statement.operands[1];
    if (type == ptx::Type::none) throw Unsupported("a move without type");
    if (type == ptx::Type::pred) {
        in.d = decoder.destination(to, type);
        in.a = decoder.source(from, type);
        in.mode = from.negated;
        in.run = move_predicate;
        return;
    }
    const uint32_t bytes = ptx::size_bytes(type);
    if (vector) {
        if (to.elements.size() != from.elements.size() || to.elements.size() > 8) throw Unsupported("this vector move");
        auto moves = std::make_unique<Moves>();
        moves->bytes = std::max(2u, bytes);
        for (size_t i = 0; i < to.elements.size(); ++i)
            moves->pairs.emplace_back(decoder.destination(to.elements[i], type),
                                      decoder.source(from.elements[i], type));
        in.run = move_vector;
        in.extra = decoder.keep(std::move(moves));
        return;
    }
    if (to.kind == Kind::vector || from.kind == Kind::vector) return decode_pack(decoder, statement, in, bytes);
    if (from.kind == Kind::name && from.text.starts_with("%") && decode_clock(decoder, statement, in, bytes)) return;
    in.d = decoder.destination(to, type);
    in.a = decoder.source(from, type);
    in.run = move_of(std::max(2u, bytes));
}

template <typename T>
void add_window(Warp& warp, const Instruction& in, Mask active) {
    const T* a = warp.lanes<T>(in.a);
    const auto window = static_cast<T>(in.immediate);
    for_lanes(warp.lanes<T>(in.d), active, [&](uint32_t i) { return static_cast<T>(a[i] + window); });
}

std::optional<uint64_t> window_of(Modifiers& modifiers) {
    if (modifiers.take("global") || modifiers.take("const")) return 0;
    if (modifiers.take("shared") || modifiers.take("shared::cta") || modifiers.take("shared::cluster"))
        return kSharedWindow;
    if (modifiers.take("local")) return kLocalWindow;
    if (modifiers.take("param") || modifiers.take("param::entry") || modifiers.take("param::func"))
        return kParameterWindow;
    return std::nullopt;
}

void decode_cvta(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    const bool to_space = modifiers.take("to");
    const auto window = window_of(modifiers);
    const ptx::Type type = modifiers.type();
    modifiers.finish({2});
    if (!window || ptx::size_bytes(type) != 8) throw Unsupported("this form");
    in.mix = Mix::move;
    set_operands(decoder, statement, in, ptx::Type::u64, {ptx::Type::u64});
    in.immediate = to_space ? -static_cast<int64_t>(*window) : static_cast<int64_t>(*window);
    in.run = *window == 0 ? move_of(8) : add_window<uint64_t>;
}

constexpr uint8_t kOwnBlock = 1;

/// in.mode: the space; in.width: kOwnBlock where other blocks' shared memory does not count.
void is_space(Warp& warp, const Instruction& in, Mask active) {
    const uint64_t* a = warp.lanes<uint64_t>(in.a);
    const auto wanted = static_cast<ptx::Space>(in.mode);
    const auto in_space = [&](uint32_t i) {
        uint64_t inside;
        const ptx::Space space = space_of(a[i], &inside);
        if (space == ptx::Space::shared && in.width == kOwnBlock && rank_of_address(inside))
            return wanted == space && *rank_of_address(inside) == warp.block->rank;
        if (space != ptx::Space::global) return space == wanted;
        const Buffer* buffer = warp.block->launch->memory->find(a[i]);
        return (buffer != nullptr && buffer->constant ? ptx::Space::constant : ptx::Space::global) == wanted;
    };
    set_predicate(warp, in.d, mask_of(in_space), active);
}

void decode_isspacep(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    ptx::Space space = ptx::Space::none;
    if (modifiers.take("global"))
        space = ptx::Space::global;
    else if (modifiers.take("shared") || modifiers.take("shared::cta") || modifiers.take("shared::cluster"))
        space = ptx::Space::shared;
    else if (modifiers.take("local"))
        space = ptx::Space::local;
    else if (modifiers.take("param") || modifiers.take("param::entry"))
        space = ptx::Space::param;
    else if (modifiers.take("const"))
        space = ptx::Space::constant;
    else
        throw Unsupported("this space");
    modifiers.finish({2});
    in.d = decoder.destination(statement.operands[0], ptx::Type::pred);
    in.a = decoder.source(statement.operands[1], ptx::Type::u64);
    in.mode = static_cast<uint8_t>(space);
    in.width = statement.has("shared::cluster") ? 0 : kOwnBlock;
    in.mix = Mix::compare;
    in.run = is_space;
}

constexpr OpRow kRows[] = {{"mov", decode_mov}, {"cvta", decode_cvta}, {"isspacep", decode_isspacep}};

}  // namespace

std::span<const OpRow> move_rows() { return kRows; }

}  // namespace recuda::vgpu
