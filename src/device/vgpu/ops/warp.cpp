// What the lanes of a warp do together: shuffles, votes, matches, reductions, elections and the warp barrier.
//
// Each lane names in a mask the lanes that take part. Lanes that have not come yet are waited for (Warp::wait: the
// instruction runs again when they join); threads that have ended are not. A value taken from a lane that does not take
// part is a fault.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "device/vgpu/block.h"
#include "device/vgpu/memory/pattern.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/modifiers.h"
#include "device/vgpu/ops/warp_members.h"

namespace recuda::vgpu {
namespace {

using ptx::Type;

// shfl: in.d result, in.a value, in.b lane or distance, in.c clamp and segments, in.e mask; in.immediate: the
// predicate's offset or -1.

enum class Shuffle : uint8_t { up, down, butterfly, index };

/// The lane that each one reads, itself where that lies outside its segment; who reads inside.
template <Shuffle kMode>
Mask sources(Warp& warp, const Instruction& in, uint32_t* from) {
    const uint32_t *b = warp.lanes<uint32_t>(in.b), *c = warp.lanes<uint32_t>(in.c);
    Mask valid = 0;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const uint32_t value = b[lane] & 31, clamp = c[lane] & 31, segments = c[lane] >> 8 & 31;
        const uint32_t last = (lane & segments) | (clamp & ~segments), first = lane & segments;
        int32_t source = 0;
        bool inside = false;
        if constexpr (kMode == Shuffle::up)
            source = static_cast<int32_t>(lane - value), inside = source >= static_cast<int32_t>(last);
        if constexpr (kMode == Shuffle::down)
            source = static_cast<int32_t>(lane + value), inside = source <= static_cast<int32_t>(last);
        if constexpr (kMode == Shuffle::butterfly)
            source = static_cast<int32_t>(lane ^ value), inside = source <= static_cast<int32_t>(last);
        if constexpr (kMode == Shuffle::index)
            source = static_cast<int32_t>(first | (value & ~segments)), inside = source <= static_cast<int32_t>(last);
        from[lane] = inside ? static_cast<uint32_t>(source) & 31 : lane;
        valid |= inside ? kLaneBits32.bit[lane] : 0;
    }
    return valid;
}

template <Shuffle kMode>
void shuffle(Warp& warp, const Instruction& in, Mask active) {
    gather(warp, in, active, [&](Mask lanes, Mask members) {
        uint32_t from[kLanes];
        const Mask valid = sources<kMode>(warp, in, from);
        alignas(64) uint32_t result[kLanes];
        Mask absent = 0;
        const uint32_t* a = warp.lanes<uint32_t>(in.a);
        for (uint32_t lane = 0; lane < kLanes; ++lane) result[lane] = a[from[lane]];
        for (Mask rest = lanes & valid; lanes != kFullMask && rest != 0; rest &= rest - 1)
            if ((lanes >> from[first_lane(rest)] & 1) == 0) absent |= rest & -rest;
        if (absent != 0) {
            warp.fault(
                in, absent,
                {.check = Check::absent_lane,
                 .message = fmt::format(
                     "lane {} reads from lane {}, which {}", first_lane(absent), from[first_lane(absent)],
                     (members >> from[first_lane(absent)] & 1) == 0 ? "the mask does not name" : "is not there")});
            return false;
        }
        blend(warp.lanes<uint32_t>(in.d), result, lanes);
        if (in.immediate >= 0) set_predicate(warp, static_cast<uint32_t>(in.immediate), valid, lanes);
        return true;
    });
}

template <Shuffle kMode>
void set_shuffle(Instruction& in) {
    in.run = shuffle<kMode>;
    in.mode = static_cast<uint8_t>(kMode);
}

void decode_shfl(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    if (!modifiers.take("sync")) throw Unsupported("shuffles without a mask");
    if (modifiers.take("up"))
        set_shuffle<Shuffle::up>(in);
    else if (modifiers.take("down"))
        set_shuffle<Shuffle::down>(in);
    else if (modifiers.take("bfly"))
        set_shuffle<Shuffle::butterfly>(in);
    else if (modifiers.take("idx"))
        set_shuffle<Shuffle::index>(in);
    else
        throw Unsupported("this mode");
    if (ptx::size_bytes(modifiers.type()) != 4) throw Unsupported("this type");
    modifiers.finish({5});
    const auto& operands = statement.operands;
    in.d = decoder.destination(operands[0], Type::b32);
    in.immediate = operands[0].elements.empty()
                       ? -1
                       : static_cast<int64_t>(decoder.destination(operands[0].elements[0], Type::pred));
    in.a = decoder.source(operands[1], Type::b32);
    in.b = decoder.source(operands[2], Type::b32);
    in.c = decoder.source(operands[3], Type::b32);
    in.e = decoder.source(operands[4], Type::b32);
    in.mix = Mix::warp;
}

// vote: in.a predicate (in.mode: negated).

enum class Vote : uint8_t { all, any, uni, ballot };

template <Vote kVote>
void vote(Warp& warp, const Instruction& in, Mask active) {
    gather(warp, in, active, [&](Mask lanes, Mask) {
        const Mask value = in.mode ? ~warp.predicate(in.a) : warp.predicate(in.a), yes = value & lanes;
        if constexpr (kVote == Vote::ballot) {
            for_lanes(warp.lanes<uint32_t>(in.d), lanes, [&](uint32_t) { return yes; });
        } else {
            const bool all = yes == lanes, none = yes == 0;
            const bool result = kVote == Vote::all ? all : kVote == Vote::any ? !none : all || none;
            set_predicate(warp, in.d, result ? kFullMask : 0, lanes);
        }
        return true;
    });
}

void decode_vote(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    if (!modifiers.take("sync")) throw Unsupported("votes without a mask");
    const bool ballot = modifiers.take("ballot");
    if (ballot)
        in.run = vote<Vote::ballot>;
    else if (modifiers.take("all"))
        in.run = vote<Vote::all>;
    else if (modifiers.take("any"))
        in.run = vote<Vote::any>;
    else if (modifiers.take("uni"))
        in.run = vote<Vote::uni>;
    else
        throw Unsupported("this mode");
    modifiers.take(ballot ? "b32" : "pred");
    modifiers.finish({3});
    in.d = decoder.destination(statement.operands[0], ballot ? Type::b32 : Type::pred);
    in.a = decoder.source(statement.operands[1], Type::pred);
    in.mode = statement.operands[1].negated;
    in.e = decoder.source(statement.operands[2], Type::b32);
    in.mix = Mix::warp;
}

template <typename T, bool kAll>
void match(Warp& warp, const Instruction& in, Mask active) {
    gather(warp, in, active, [&](Mask lanes, Mask) {
        const T* a = warp.lanes<T>(in.a);
        alignas(64) uint32_t result[kLanes] = {};
        bool all = true;
        for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
            const uint32_t lane = first_lane(rest);
            result[lane] = mask_of([&](uint32_t i) { return a[i] == a[lane]; }) & lanes;
            all = all && result[lane] == lanes;
        }
        if constexpr (kAll) {
            std::fill(result, result + kLanes, all ? lanes : 0);
            if (in.immediate >= 0) set_predicate(warp, static_cast<uint32_t>(in.immediate), all ? kFullMask : 0, lanes);
        }
        blend(warp.lanes<uint32_t>(in.d), result, lanes);
        return true;
    });
}

void decode_match(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    const bool all = modifiers.take("all");
    if (!all && !modifiers.take("any")) throw Unsupported("this mode");
    if (!modifiers.take("sync")) throw Unsupported("matches without a mask");
    const Type type = modifiers.type();
    modifiers.finish({3});
    const bool wide = ptx::size_bytes(type) == 8;
    in.run = wide ? (all ? match<uint64_t, true> : match<uint64_t, false>)
                  : (all ? match<uint32_t, true> : match<uint32_t, false>);
    const auto& operands = statement.operands;
    in.d = decoder.destination(operands[0], Type::b32);
    in.immediate = operands[0].elements.empty()
                       ? -1
                       : static_cast<int64_t>(decoder.destination(operands[0].elements[0], Type::pred));
    in.a = decoder.source(operands[1], wide ? Type::b64 : Type::b32);
    in.e = decoder.source(operands[2], Type::b32);
    in.mix = Mix::warp;
}

void active_mask(Warp& warp, const Instruction& in, Mask active) {
    for_lanes(warp.lanes<uint32_t>(in.d), active, [&](uint32_t) { return active; });
}

void decode_activemask(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    modifiers.take("b32");
    modifiers.finish({1});
    in.d = decoder.destination(statement.operands[0], Type::b32);
    in.mix = Mix::special;
    in.run = active_mask;
}

void elect(Warp& warp, const Instruction& in, Mask active) {
    gather(warp, in, active, [&](Mask lanes, Mask) {
        const uint32_t leader = first_lane(lanes);
        for_lanes(warp.lanes<uint32_t>(in.d), lanes, [&](uint32_t) { return leader; });
        if (in.immediate >= 0) set_predicate(warp, static_cast<uint32_t>(in.immediate), Mask{1} << leader, lanes);
        return true;
    });
}

void decode_elect(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    if (!modifiers.take("sync")) throw Unsupported("this form");
    modifiers.finish({2});
    const auto& operands = statement.operands;
    in.d = decoder.destination(operands[0], Type::b32);
    in.immediate = operands[0].elements.empty()
                       ? -1
                       : static_cast<int64_t>(decoder.destination(operands[0].elements[0], Type::pred));
    in.e = decoder.source(operands[1], Type::b32);
    in.mix = Mix::warp;
    in.run = elect;
}

/// Lanes may meet at different warp barriers with one mask: then all go on together.
void warp_barrier(Warp& warp, const Instruction& in, Mask active) {
    const uint32_t* masks = warp.lanes<uint32_t>(in.e);
    const auto met = [&](Mask lanes) {
        if (warp.block->launch->checks) warp.block->order.sync_warp(warp.index, lanes, warp.alive);
    };
    for (Mask rest = active; rest != 0;) {
        const Mask members = masks[first_lane(rest)];
        const Mask same = rest & mask_of([&](uint32_t i) { return masks[i] == members; });
        rest &= ~same;
        if ((same & ~members) != 0) {
            warp.fault(in, same & ~members,
                       {.check = Check::absent_lane,
                        .message = fmt::format("lanes {:#x} wait with the mask {:#x}, which does not name them",
                                               same & ~members, members)});
            return;
        }
        const Mask needed = members & warp.alive;
        Mask here = same;
        for (const Group& group : warp.groups)
            if (group.state == Group::State::at_warp_sync && group.at->run == warp_barrier &&
                (group.needed & warp.alive) == needed)
                here |= group.lanes;
        if ((needed & ~here) != 0) {
            warp.wait(in, same, Group::State::at_warp_sync, 0, needed);
            continue;
        }
        for (Group& group : warp.groups) {
            if (group.state != Group::State::at_warp_sync || group.at->run != warp_barrier ||
                (group.needed & warp.alive) != needed)
                continue;
            group.state = Group::State::runnable;
            ++group.pc;
            warp.limit = 0;
        }
        met(needed);
    }
}

void decode_warp_barrier(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    if (!modifiers.take("warp")) not_mine();
    if (!modifiers.take("sync")) throw Unsupported("this form");
    modifiers.finish({1});
    in.e = decoder.source(statement.operands[0], Type::b32);
    in.mix = Mix::warp;
    in.run = warp_barrier;
}

constexpr OpRow kRows[] = {
    {"shfl", decode_shfl},
    {"vote", decode_vote},
    {"match", decode_match},
    {"redux", decode_redux},
    {"activemask", decode_activemask},
    {"elect", decode_elect},
    {"bar", decode_warp_barrier},
    {"barrier", decode_warp_barrier},
};

}  // namespace

void shuffle_sources(Warp& warp, const Instruction& in, uint32_t* from) {
    switch (static_cast<Shuffle>(in.mode)) {
        case Shuffle::up:
            sources<Shuffle::up>(warp, in, from);
            break;
        case Shuffle::down:
            sources<Shuffle::down>(warp, in, from);
            break;
        case Shuffle::butterfly:
            sources<Shuffle::butterfly>(warp, in, from);
            break;
        case Shuffle::index:
            sources<Shuffle::index>(warp, in, from);
            break;
    }
}

std::span<const OpRow> warp_rows() { return kRows; }

}  // namespace recuda::vgpu
