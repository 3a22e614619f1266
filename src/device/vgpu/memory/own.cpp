// Accesses of what is a thread's own, or the same for all: local memory and the kernel's parameters.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "device/vgpu/block.h"
#include "device/vgpu/memory/parts.h"

namespace recuda::vgpu {

Fault misaligned(std::string name, int64_t offset, uint32_t width) {
    const char* what = offset % width == 0 ? " itself begins at" : " is";
    return {.check = Check::misaligned,
            .message = fmt::format("an access of {} bytes at byte {} of {}, which{} no multiple of {}", width, offset,
                                   name, what, width),
            .buffer = name,
            .byte_offset = offset,
            .bytes = width};
}

Mask misaligned_lanes(const uint64_t* address, Mask active, uint32_t width) {
    Mask lanes = 0;
    for (Mask rest = active; rest != 0; rest &= rest - 1)
        if ((address[first_lane(rest)] & (width - 1)) != 0) lanes |= rest & -rest;
    return lanes;
}

bool reach_local(Warp& warp, const Instruction& in, const uint64_t* address, Mask active, uint32_t width, Intent intent,
                 Access& access) {
    Mask bad = 0, undefined = 0;
    Frame* frame = warp.frame_at(address[first_lane(active)]);
    const auto name_at = [&](uint64_t at) -> std::pair<std::string, int64_t> {
        if (frame == nullptr || frame->function->local_variables.empty()) return {"local", static_cast<int64_t>(at)};
        const auto& variables = frame->function->local_variables;
        size_t nearest = 0;
        const uint64_t inside = at - frame->local_base;
        for (size_t i = 0; i < variables.size(); ++i)
            if (variables[i].first <= inside) nearest = i;
        const std::string& name = frame->function->local_names[nearest];
        return {name.starts_with("__local_depot") ? "local" : name,
                static_cast<int64_t>(inside) - variables[nearest].first};
    };
    for (Mask rest = active; rest != 0; rest &= rest - 1) {
        const uint32_t lane = first_lane(rest);
        Frame* own = warp.frame_at(address[lane]);
        const uint64_t at = own == nullptr ? 0 : address[lane] - own->local_base;
        if (own == nullptr || at + width > own->function->local_bytes) {
            bad |= rest & -rest;
            continue;
        }
        const size_t place = size_t{lane} * own->function->local_bytes + at;
        uint8_t* shadow = own->local_shadow + place;
        access.lane[lane] = own->local + place;
        if (std::memchr(shadow, 2, width) != nullptr)
            bad |= rest & -rest;
        else if (intent == Intent::write)
            std::memset(shadow, 1, width);
        else if (std::memchr(shadow, 0, width) != nullptr)
            undefined |= rest & -rest;
    }
    const Mask lanes = bad != 0                                        ? bad
                       : misaligned_lanes(address, active, width) != 0 ? misaligned_lanes(address, active, width)
                       : warp.block->launch->checks                    ? undefined
                                                                       : 0;
    if (lanes != 0) {
        frame = warp.frame_at(address[first_lane(lanes)]);
        const auto [name, offset] = name_at(address[first_lane(lanes)]);
        Fault fault = misaligned(name, offset, width);
        if (lanes == bad) {
            fault.check = Check::out_of_bounds;
            fault.message = fmt::format("an access of {} bytes at byte {} lies outside local memory", width, offset);
        } else if (misaligned_lanes(address, active, width) == 0) {
            fault.check = Check::uninitialised;
            fault.message = fmt::format("byte {} of local memory is read before anything is written to it", offset);
        }
        warp.fault(in, lanes, std::move(fault));
        return false;
    }
    access.contiguous = false;
    for (uint32_t lane = 0; lane < kLanes; ++lane)
        if (!(active >> lane & 1)) access.lane[lane] = access.lane[first_lane(active)];
    if (intent != Intent::read) ++warp.block->changes;
    Tally& tally = warp.block->worker->tally;
    if (tally.on)
        count_local(tally.memory[in.index].local, address, active, width, uint64_t{width} * std::popcount(active));
    return true;
}

bool reach_parameter(Warp& warp, const Instruction& in, const uint64_t* address, Mask active, uint32_t width,
                     Intent intent, Access& access) {
    auto& bytes = warp.block->launch->parameters;
    Mask bad = 0;
    for (Mask rest = active; rest != 0; rest &= rest - 1) {
        const uint64_t at = address[first_lane(rest)];
        if (intent != Intent::read || at + width > bytes.size() || at + width < at)
            bad |= rest & -rest;
        else
            access.lane[first_lane(rest)] = bytes.data() + at;
    }
    if (bad != 0) {
        warp.fault(in, bad,
                   {.check = Check::out_of_bounds,
                    .message = fmt::format("an access of {} bytes at byte {} of the kernel's parameters", width,
                                           address[first_lane(bad)]),
                    .buffer = "parameters",
                    .byte_offset = static_cast<int64_t>(address[first_lane(bad)]),
                    .bytes = width});
        return false;
    }
    if (const Mask lanes = misaligned_lanes(address, active, width); lanes != 0) {
        warp.fault(in, lanes, misaligned("parameters", static_cast<int64_t>(address[first_lane(lanes)]), width));
        return false;
    }
    access.contiguous = false;
    for (uint32_t lane = 0; lane < kLanes; ++lane)
        if (!(active >> lane & 1)) access.lane[lane] = access.lane[first_lane(active)];
    return true;
}

void count_local(Traffic& traffic, const uint64_t* address, Mask active, uint32_t width, uint64_t bytes) {
    // Local memory is interleaved by 4 bytes a lane: lanes at one address share sectors.
    uint64_t interleaved[kLanes];
    for (uint32_t lane = 0; lane < kLanes; ++lane) interleaved[lane] = (address[lane] / 4 * kLanes + lane) * 4;
    for (uint32_t lane = 0; lane < kLanes; ++lane)
        if (!(active >> lane & 1)) interleaved[lane] = interleaved[first_lane(active)];
    const uint32_t words = std::max(1u, width / 4);
    count_traffic(traffic, bytes,
                  uint64_t{words} * sectors_of(interleaved, active, 4, pattern_of(interleaved, active, 4)));
}

}  // namespace recuda::vgpu
