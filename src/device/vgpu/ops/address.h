// What memory instructions share while they are decoded: spaces, orders, cache hints, addresses; and generic addresses
// at run time.
#pragma once

#include <algorithm>
#include <bit>

#include "device/vgpu/block.h"
#include "device/vgpu/memory/access.h"
#include "device/vgpu/memory/global_race.h"
#include "device/vgpu/memory/shared.h"
#include "device/vgpu/ops/modifiers.h"
#include "device/vgpu/program.h"

namespace recuda::vgpu {

/// The state space of an access; none: generic.
inline ptx::Space take_space(Modifiers& modifiers) {
    if (modifiers.take("global")) return ptx::Space::global;
    if (modifiers.take("shared") || modifiers.take("shared::cta") || modifiers.take("shared::cluster"))
        return ptx::Space::shared;
    if (modifiers.take("local")) return ptx::Space::local;
    if (modifiers.take("const")) return ptx::Space::constant;
    if (modifiers.take("param") || modifiers.take("param::entry") || modifiers.take("param::func"))
        return ptx::Space::param;
    return ptx::Space::none;
}

/// Mode bits: whether an access may reach into the shared memory of other blocks.
inline uint8_t reach_of(const ptx::Statement& statement, ptx::Space space) {
    return space == ptx::Space::none || statement.has("shared::cluster") ? kPeers : 0;
}

/// Takes the scope; the GPU where none stands.
inline Scope take_scope(Modifiers& modifiers) {
    if (modifiers.take("cta")) return Scope::block;
    if (modifiers.take("cluster")) return Scope::cluster;
    if (!modifiers.take("gpu")) modifiers.take("sys");
    return Scope::gpu;
}

/// Takes memory order and scope: mode bits of accesses that do not race with their like, and of what they order.
inline uint8_t take_order(Modifiers& modifiers) {
    uint8_t mode = 0;
    for (const auto name : {"volatile", "relaxed", "mmio"})
        if (modifiers.take(name)) mode |= kStrong;
    if (modifiers.take("acquire")) mode |= kStrong | kAcquires;
    if (modifiers.take("release")) mode |= kStrong | kReleases;
    if (modifiers.take("acq_rel")) mode |= kStrong | kAcquires | kReleases;
    modifiers.take("weak");
    return mode | narrowed(take_scope(modifiers));
}

/// Notes in the program what its strong accesses order.
inline void note_order(Program& program, uint8_t mode) {
    program.orders = program.orders || (mode & (kAcquires | kReleases)) != 0;
    program.narrow = program.narrow || ((mode & kStrong) != 0 && (mode & kNarrow) != 0);
}

/// The part of note_strong that only programs with fences, releases or acquires need.
void hand_on(Warp& warp, const Instruction& in, ptx::Space space, const Access& access, const uint64_t* address,
             Mask read, Mask written, bool keeps);

/// Tells the race checks of strong accesses, where the program orders anything by them: of the lanes `read` and
/// `written`. `keeps`: an atomic, which leaves what earlier writes left at the place. The access is not over yet.
inline void note_strong(Warp& warp, const Instruction& in, ptx::Space space, const Access& access,
                        const uint64_t* address, Mask read, Mask written, bool keeps) {
    if ((in.mode & kStrong) != 0 && warp.block->order.flags())
        hand_on(warp, in, space, access, address, read, written, keeps);
}

/// Takes cache operators and hints, which change nothing here. True where a cache policy follows as an operand.
inline bool take_cache(Modifiers& modifiers) {
    for (const auto name : {"ca",
                            "cg",
                            "cs",
                            "lu",
                            "cv",
                            "nc",
                            "wb",
                            "wt",
                            "unified",
                            "L1::evict_normal",
                            "L1::evict_unchanged",
                            "L1::evict_first",
                            "L1::evict_last",
                            "L1::no_allocate",
                            "L2::evict_normal",
                            "L2::evict_first",
                            "L2::evict_last",
                            "L2::64B",
                            "L2::128B",
                            "L2::256B"})
        modifiers.take(name);
    return modifiers.take("L2::cache_hint");
}

/// Sets in.a, in.immediate and kWideBase from [base + offset].
inline void resolve_address(ProgramDecoder& decoder, const ptx::Operand& address, Instruction& in) {
    if (address.kind != ptx::Operand::Kind::address) throw Unsupported("an address of this form");
    in.immediate = address.offset;
    if (address.text.empty()) {
        in.a = decoder.constant(0, 8);
        in.mode |= kWideBase;
    } else if (decoder.is_register(address.text)) {
        const auto base = decoder.register_of(address);
        const uint32_t bytes = ptx::size_bytes(base.type);
        if (base.type == ptx::Type::pred || (bytes != 4 && bytes != 8))
            throw Unsupported("an address register of this type");
        in.a = base.offset;
        if (bytes == 8) in.mode |= kWideBase;
    } else {
        ptx::Operand name;
        name.kind = ptx::Operand::Kind::name;
        name.text = address.text;
        in.a = decoder.source(name, ptx::Type::u64);
        in.mode |= kWideBase;
    }
}

/// Races in shared memory are told apart down to the program's smallest access.
inline void note_granule(Program& program, uint32_t width) {
    program.shared_granule = std::min(program.shared_granule, std::max(1u, width));
}

/// Calls body(space, addresses in it, lanes) for the lanes of each space that generic addresses lie in.
template <typename Body>
void by_space(Warp& warp, const uint64_t* generic, Mask active, Body body) {
    for (Mask rest = active; rest != 0;) {
        alignas(64) uint64_t address[kLanes], inside = 0;
        const ptx::Space space = space_of(generic[first_lane(rest)], &inside);
        Mask same = 0;
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
            uint64_t at = 0;
            const bool here = (rest >> lane & 1) != 0 && space_of(generic[lane], &at) == space;
            address[lane] = here ? at : inside;
            if (here) same |= Mask{1} << lane;
        }
        body(space, address, same);
        if (warp.limit == 0) return;  // a fault
        rest &= ~same;
    }
}

}  // namespace recuda::vgpu
