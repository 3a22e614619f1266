#include "device/vgpu/memory/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "device/vgpu/cluster.h"
#include "device/vgpu/memory/global_race.h"
#include "device/vgpu/memory/parts.h"
#include "device/vgpu/memory/shared.h"

namespace recuda::vgpu {
namespace {

void outside_global(Warp& warp, const Instruction& in, const uint64_t* address, Mask lanes, uint32_t width,
                    Intent intent) {
    const uint64_t at = address[first_lane(lanes)];
    const GlobalMemory& memory = *warp.block->launch->memory;
    const Buffer* buffer = memory.find(at);
    if (buffer == nullptr) buffer = memory.nearest(at);
    const char* what = intent == Intent::read ? "read" : intent == Intent::write ? "write" : "atomic access";
    Fault fault{.check = Check::out_of_bounds, .bytes = width};
    if (buffer != nullptr) {
        fault.buffer = buffer->name;
        fault.byte_offset = static_cast<int64_t>(at - buffer->base);
        const int64_t over = fault.byte_offset + width - static_cast<int64_t>(buffer->size);
        fault.message = fault.byte_offset < 0
                            ? fmt::format("a {} of {} bytes begins {} bytes before buffer {}", what, width,
                                          -fault.byte_offset, buffer->name)
                            : fmt::format("a {} of {} bytes ends {} bytes past the end of buffer {} of {} bytes", what,
                                          width, over, buffer->name, buffer->size);
    } else {
        fault.message = fmt::format("a {} of {} bytes at address {:#x}, which is {}", what, width, at,
                                    at < 4096 ? "a null pointer" : "in no buffer");
        fault.byte_offset = at < 4096 ? static_cast<int64_t>(at) : 0;
    }
    warp.fault(in, lanes, std::move(fault));
}

bool check_initialised(Warp& warp, const Instruction& in, const Buffer& buffer, const uint64_t* address, Mask active,
                       uint32_t width, const Pattern& pattern) {
    const uint8_t* shadow = buffer.shadow;
    if (pattern.contiguous && std::memchr(shadow + (pattern.low - buffer.base), 0, size_t{width} * kLanes) == nullptr)
        return true;
    Mask lanes = 0;
    for (Mask rest = active; rest != 0; rest &= rest - 1)
        if (std::memchr(shadow + (address[first_lane(rest)] - buffer.base), 0, width) != nullptr) lanes |= rest & -rest;
    if (lanes == 0) return true;
    if (buffer.followed && warp.block->cluster->defer(warp, in)) return false;
    const int64_t offset = address[first_lane(lanes)] - buffer.base;
    warp.fault(
        in, lanes,
        {.check = Check::uninitialised,
         .message = fmt::format("byte {} of buffer {} is read before anything is written to it", offset, buffer.name),
         .buffer = buffer.name,
         .byte_offset = offset,
         .bytes = width});
    return false;
}

void mark_written(const Buffer& buffer, const uint64_t* address, Mask active, uint32_t width, const Pattern& pattern) {
    uint8_t* shadow = buffer.shadow;
    if (pattern.contiguous) {
        std::memset(shadow + (pattern.low - buffer.base), 1, size_t{width} * kLanes);
        return;
    }
    for (Mask rest = active; rest != 0; rest &= rest - 1)
        std::memset(shadow + (address[first_lane(rest)] - buffer.base), 1, width);
}

/// Lanes whose access is not wholly inside a buffer.
Mask lanes_outside(const GlobalMemory& memory, const uint64_t* address, Mask active, uint32_t width) {
    Mask lanes = 0;
    for (Mask rest = active; rest != 0; rest &= rest - 1) {
        const uint64_t at = address[first_lane(rest)];
        const Buffer* buffer = memory.find(at);
        if (buffer == nullptr || buffer->size - (at - buffer->base) < width) lanes |= rest & -rest;
    }
    return lanes;
}

bool reach_buffer(Warp& warp, const Instruction& in, Buffer& buffer, const uint64_t* address, Mask active,
                  uint32_t width, Intent intent, const Pattern& pattern, Access& access, const WrittenValues* values,
                  StripesHeld& held) {
    if ((pattern.bits & (width - 1)) != 0) {
        const Mask lanes = misaligned_lanes(address, active, width);
        if (lanes != 0) {
            warp.fault(in, lanes, misaligned(buffer.name, address[first_lane(lanes)] - buffer.base, width));
            return false;
        }
    }
    GlobalRaces* races = warp.block->launch->races;
    access.followed = races != nullptr && buffer.followed;
    if (access.followed && !races->check(warp, in, buffer, address, active, width, intent, pattern, values, held))
        return false;
    if (buffer.shadow != nullptr && warp.block->launch->checks) {
        if (intent != Intent::write && !check_initialised(warp, in, buffer, address, active, width, pattern))
            return false;
        if (intent == Intent::write) mark_written(buffer, address, active, width, pattern);
    }
    if (intent == Intent::write) ++warp.block->changes;
    if (buffer.is_input && intent != Intent::read) buffer.stored.store(true, std::memory_order_relaxed);
    Tally& tally = warp.block->worker->tally;
    if (tally.on) {
        const uint64_t bytes = uint64_t{width} * std::popcount(active),
                       sectors = sectors_of(address, active, width, pattern);
        Tally::Memory& memory = tally.memory[in.index];
        if (intent != Intent::write) count_traffic(memory.read, bytes, sectors);
        if (intent != Intent::read) count_traffic(memory.write, bytes, sectors);
        if (intent == Intent::atomic) memory.count_atomic(address, active, true);
    }
    access.contiguous = pattern.contiguous;
    access.lane[0] = buffer.data + (address[0] - buffer.base);
    if (!pattern.contiguous)
        for (uint32_t lane = 0; lane < kLanes; ++lane) access.lane[lane] = buffer.data + (address[lane] - buffer.base);
    return true;
}

bool reach_global(Warp& warp, const Instruction& in, const uint64_t* address, Mask active, uint32_t width,
                  Intent intent, Access& access, const WrittenValues* values) {
    if (intent != Intent::write) ++warp.block->outside;
    if (Transfers& transfers = warp.block->cluster->transfers;
        transfers.stores() != 0 && !transfers.clear_of(warp, in, address, active, width, intent))
        return false;
    const Pattern pattern = pattern_of(address, active, width);
    Buffer*& cached = warp.block->worker->last_buffer[in.index];
    const auto inside = [&](const Buffer* buffer) {
        return buffer != nullptr && pattern.low >= buffer->base && pattern.low - buffer->base < buffer->size &&
               pattern.high - pattern.low <= buffer->size && pattern.high - buffer->base + width <= buffer->size;
    };
    const auto reach_one = [&] {
        return reach_buffer(warp, in, *cached, address, active, width, intent, pattern, access, values, access.held);
    };
    access.held.release();
    const bool known = inside(cached);
    if (warp.block->launch->races != nullptr && !(known && !cached->followed))
        warp.block->launch->races->hold(access.held, address, active, width, pattern);
    if (known) return reach_one();
    const GlobalMemory& memory = *warp.block->launch->memory;
    cached = memory.find(pattern.low);
    if (inside(cached)) return reach_one();
    cached = nullptr;
    const Mask outside = lanes_outside(memory, address, active, width);
    if (outside != 0) {
        outside_global(warp, in, address, outside, width, intent);
        return false;
    }
    // Lanes reach into several buffers: each buffer's lanes by themselves.
    Access part;
    access.followed = false;
    for (Mask rest = active; rest != 0;) {
        Buffer* buffer = memory.find(address[first_lane(rest)]);
        Mask lanes = 0;
        uint64_t own[kLanes];
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
            const bool here = (rest >> lane & 1) && address[lane] - buffer->base < buffer->size;
            own[lane] = here ? address[lane] : address[first_lane(rest)];
            if (here) lanes |= Mask{1} << lane;
        }
        if (!reach_buffer(warp, in, *buffer, own, lanes, width, intent, pattern_of(own, lanes, width), part, values,
                          access.held))
            return false;
        access.followed = access.followed || part.followed;
        for (Mask here = lanes; here != 0; here &= here - 1)
            access.lane[first_lane(here)] = part.lane[first_lane(here)];
        rest &= ~lanes;
    }
    access.contiguous = false;
    for (uint32_t lane = 0; lane < kLanes; ++lane)
        if (!(active >> lane & 1)) access.lane[lane] = access.lane[first_lane(active)];
    return true;
}

bool reach_shared(Warp& warp, const Instruction& in, const uint64_t* address, Mask active, uint32_t width,
                  Intent intent, Access& access) {
    const Pattern pattern = pattern_of(address, active, width);
    SharedMemory& shared = warp.block->shared;
    if (pattern.high >= kRankUnit) return reach_peers(warp, in, address, active, width, intent, access, nullptr);
    if (!prepare_shared(warp, in, address, active, width, pattern)) return false;
    if (intent == Intent::read) {
        if (!shared.read(warp, in, address, active, width, pattern)) return false;
    } else {
        for (Mask rest = active; rest != 0; rest &= rest - 1)
            if (!shared.atomic(warp, in, first_lane(rest), address[first_lane(rest)], width)) return false;
        if (warp.block->worker->tally.on)
            warp.block->worker->tally.memory[in.index].count_atomic(address, active, false);
    }
    access.contiguous = pattern.contiguous;
    for (uint32_t lane = 0; lane < kLanes; ++lane) access.lane[lane] = shared.data() + address[lane];
    return true;
}

}  // namespace

void addresses_of(Warp& warp, const Instruction& in, Mask active, uint64_t* address) {
    if ((in.mode & kWideBase) != 0) {
        const uint64_t* base = warp.lanes<uint64_t>(in.a);
        for (uint32_t lane = 0; lane < kLanes; ++lane) address[lane] = base[lane] + static_cast<uint64_t>(in.immediate);
    } else {
        const uint32_t* base = warp.lanes<uint32_t>(in.a);
        for (uint32_t lane = 0; lane < kLanes; ++lane)
            address[lane] = static_cast<uint32_t>(base[lane] + static_cast<uint32_t>(in.immediate));
    }
    if (active == kFullMask) return;
    const uint64_t first = address[first_lane(active)];
    for (uint32_t lane = 0; lane < kLanes; ++lane) address[lane] = active >> lane & 1 ? address[lane] : first;
}

ptx::Space space_of(uint64_t generic, uint64_t* address) {
    // A little below a window still means that window: an index below its first variable.
    const auto within = [&](uint64_t window) { return generic - (window - (1u << 16)) < kWindowBytes; };
    for (const auto& [window, space] : {std::pair{kSharedWindow, ptx::Space::shared},
                                        {kLocalWindow, ptx::Space::local},
                                        {kParameterWindow, ptx::Space::param}})
        if (within(window)) {
            *address = generic - window;
            return space;
        }
    *address = generic;
    return ptx::Space::global;
}

bool prepare_shared(Warp& warp, const Instruction& in, const uint64_t* address, Mask active, uint32_t width,
                    const Pattern& pattern) {
    if ((pattern.bits & (width - 1)) != 0) {
        const Mask lanes = misaligned_lanes(address, active, width);
        if (lanes != 0) {
            const auto [name, offset] = warp.block->shared.name_of(address[first_lane(lanes)]);
            warp.fault(in, lanes, misaligned(name, offset, width));
            return false;
        }
    }
    Tally& tally = warp.block->worker->tally;
    if (!tally.on) return true;
    tally.memory[in.index].count_shared(wavefronts_of(address, active, width, pattern), std::popcount(active), width);
    return true;
}

bool reach(Warp& warp, const Instruction& in, ptx::Space space, const uint64_t* address, Mask active, uint32_t width,
           Intent intent, Access& access, const WrittenValues* values) {
    switch (space) {
        case ptx::Space::shared:
            return reach_shared(warp, in, address, active, width, intent, access);
        case ptx::Space::local:
            return reach_local(warp, in, address, active, width, intent, access);
        case ptx::Space::param:
            return reach_parameter(warp, in, address, active, width, intent, access);
        default:
            return reach_global(warp, in, address, active, width, intent, access, values);
    }
}

}  // namespace recuda::vgpu
