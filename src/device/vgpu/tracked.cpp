// Instructions whose operands may be undefined, as they run: states follow the values (assignment.h).
#include <cstring>

#include "device/vgpu/assignment.h"
#include "device/vgpu/block.h"
#include "device/vgpu/faults.h"
#include "device/vgpu/ops/warp_members.h"
#include "device/vgpu/warp.h"

namespace recuda::vgpu {
namespace {

struct State {
    uint32_t origin[kLanes], bytes[kLanes];
};

State* state_at(Warp& warp, uint32_t slot) { return reinterpret_cast<State*>(warp.registers + slot); }

/// Bytes of any source that are undefined in an active lane.
uint32_t undefined_bytes(Warp& warp, const Tracked& tracked, Mask active) {
    uint32_t all = 0;
    for (const Tracked::Source& source : tracked.sources) {
        const State& state = *state_at(warp, source.slot);
        for (uint32_t lane = 0; lane < kLanes; ++lane) all |= active >> lane & 1 ? state.bytes[lane] : 0;
    }
    return all;
}

void report(Warp& warp, const Instruction& in, Mask lanes, uint32_t origin) {
    const Instruction& first = origin == kUnused ? in : warp.block->program().code[origin - 1];
    warp.fault(first, lanes,
               {.check = Check::uninitialised,
                .message = "a register is used before anything is written to it",
                .buffer = ""});
}

/// Reports lanes in which a byte that decides something is not defined, and what used it first; true where some are.
bool report_use(Warp& warp, const Instruction& in, const Tracked& tracked, Mask lanes) {
    uint32_t origin = 0;
    Mask undefined = 0;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
        if (!(lanes >> lane & 1)) continue;
        for (const Tracked::Source& source : tracked.sources) {
            const State& state = *state_at(warp, source.slot);
            if ((state.bytes[lane] & source.decisive) == 0) continue;
            if (undefined == 0) origin = state.origin[lane];
            undefined |= Mask{1} << lane;
        }
    }
    if (undefined == 0) return false;
    report(warp, in, undefined, origin);
    return true;
}

/// Bytes of an `and` or `or` that this operand alone settles in a lane.
uint32_t settled_bytes(Warp& warp, Tracked::Join join, const Tracked::Joined& operand, uint32_t lane) {
    const uint32_t undefined = operand.slot ? state_at(warp, *operand.slot)->bytes[lane] : 0;
    const bool any = join == Tracked::Join::disjunction;
    if (operand.bytes == 0) {
        const bool value = (warp.predicate(operand.offset) >> lane & 1) != operand.negated;
        return undefined == 0 && value == any ? ~0u : 0;
    }
    uint32_t settled = 0;
    const std::byte* value = warp.registers + operand.offset + lane * operand.bytes;
    for (uint32_t j = 0; j < operand.bytes; ++j) settled |= value[j] == std::byte(any ? 0xff : 0) ? 1u << j : 0;
    return settled & ~undefined;
}

/// The state of a result by what it needs.
void follow(Warp& warp, const Instruction& in, const Tracked& tracked, const Tracked::Result& result, State& to) {
    to = {};
    const Mask first = tracked.selects ? warp.predicate(tracked.chooser) ^ (tracked.swapped ? kFullMask : 0) : 0;
    for (const auto& [number, map] : result.needs) {
        const Tracked::Source& source = tracked.sources[number];
        const State& from = *state_at(warp, source.slot);
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
            if (from.bytes[lane] == 0) continue;
            if (tracked.selects && source.operand <= 2 && (source.operand == 1) != ((first >> lane & 1) != 0)) continue;
            uint32_t bytes = 0;
            for (uint32_t j = 0; j < kMostRegisterBytes; ++j) bytes |= (from.bytes[lane] & map[j]) != 0 ? 1u << j : 0;
            if (tracked.join != Tracked::Join::none && (source.operand == 1 || source.operand == 2))
                bytes &= ~settled_bytes(warp, tracked.join, tracked.joined[2 - source.operand], lane);
            if (bytes == 0) continue;
            const bool unused = from.origin[lane] == kUnused && !tracked.copies;
            if (to.bytes[lane] == 0) to.origin[lane] = unused ? in.index + 1 : from.origin[lane];
            to.bytes[lane] |= bytes;
        }
    }
}

}  // namespace

bool report_guard(Warp& warp, const Instruction& in, Mask active) {
    const State& state = *state_at(warp, *warp.block->program().tracked[in.index]->guard);
    Mask undefined = 0;
    for (uint32_t lane = 0; lane < kLanes; ++lane) undefined |= state.bytes[lane] != 0 ? Mask{1} << lane : 0;
    undefined &= active;
    if (undefined == 0) return false;
    report(warp, in, undefined, state.origin[first_lane(undefined)]);
    return true;
}

void run_tracked(Warp& warp, const Instruction& in, Mask active) {
    const Tracked& tracked = *warp.block->program().tracked[in.index];
    const Mask read = tracked.shuffles ? kFullMask : active;
    constexpr size_t kMostResults =
        8;  // of what computes: loads and matrix products, all of whose operands decide, have more
    if (undefined_bytes(warp, tracked, read) == 0 || tracked.results.size() > kMostResults) {
        if (report_use(warp, in, tracked, active)) return;
        tracked.run(warp, in, active);
        for (const Tracked::Result& result : tracked.results) {
            State& state = *state_at(warp, result.slot);
            for (uint32_t lane = 0; lane < kLanes; ++lane) state.bytes[lane] &= active >> lane & 1 ? 0 : ~0u;
        }
        return;
    }
    if (report_use(warp, in, tracked, active)) return;
    uint32_t from[kLanes];
    if (tracked.shuffles) shuffle_sources(warp, in, from);
    State states[kMostResults];
    for (size_t i = 0; i < tracked.results.size(); ++i) follow(warp, in, tracked, tracked.results[i], states[i]);
    tracked.run(warp, in, active);
    // Lanes that wait for others run it again.
    const Mask done = tracked.shuffles ? active & warp.active : active;
    for (size_t i = 0; i < tracked.results.size(); ++i) {
        State& state = *state_at(warp, tracked.results[i].slot);
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
            if (!(done >> lane & 1)) continue;
            const uint32_t source = tracked.shuffles ? from[lane] : lane;
            state.origin[lane] = states[i].origin[source];
            state.bytes[lane] = states[i].bytes[source];
        }
    }
}

}  // namespace recuda::vgpu
