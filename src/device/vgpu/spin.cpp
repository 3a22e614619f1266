// Loops that do not end: a warp whose registers and memory are after a turn as they were before it spins, and where all
// do, nothing will change.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "device/vgpu/block.h"

namespace recuda::vgpu {

void Block::runaway(Warp& warp, const char* why) {
    warp.park();
    const Group* group = warp.groups.empty() ? nullptr : &warp.groups.front();
    for (const Group& other : warp.groups)
        if (other.state == Group::State::runnable) group = &other;
    const Instruction& in = program().code[warp.last_loop];
    raise(line_of(in, group != nullptr ? group->frame : nullptr),
          warp.thread(group != nullptr ? std::countr_zero(group->lanes) : 0), 1,
          {.check = Check::runaway, .message = fmt::format("this loop does not end: {}", why)});
    launch->stop = true;
}

void Block::compare_snapshot(Warp& warp) {
    Snapshot& known = snapshots_[warp.index];
    const Group* running = nullptr;
    uint32_t runnable = 0;
    for (const Group& group : warp.groups) {
        if (group.state != Group::State::runnable) continue;
        ++runnable;
        if (running == nullptr || group.frame == warp.frame) running = &group;
    }
    if (running == nullptr) {
        known.valid = known.same = false;
        return;
    }
    const size_t bytes = running->frame->function->register_bytes;
    const auto places = [&] {
        std::vector<std::pair<uint32_t, Mask>> list;
        for (const Group& group : warp.groups) list.emplace_back(group.pc, group.lanes);
        std::sort(list.begin(), list.end());
        return list;
    }();
    const bool equal = known.valid && known.places == places && known.frame == running->frame &&
                       known.changes == changes &&
                       (bytes == 0 || std::memcmp(known.registers.data(), running->frame->registers, bytes) == 0);
    // Groups may wait for each other: nothing is known before each of them has had its turn.
    known.repeats = equal ? known.repeats + 1 : 0;
    known.same = known.repeats > 0 && known.repeats >= runnable;
    if (equal && runnable > 1) ++warp.groups.back().yields;
    known.alone = known.same && known.outside == outside;
    known.outside = outside;
    if (equal) return;
    known.valid = true;
    known.places = places;
    known.frame = running->frame;
    known.changes = changes;
    known.registers.assign(running->frame->registers, running->frame->registers + bytes);
}

bool Block::spins_alone() const {
    if (launch->cluster.volume() > 1) return false;
    for (const auto& warp : warps) {
        const bool runs = std::any_of(warp->groups.begin(), warp->groups.end(),
                                      [](const Group& group) { return group.state == Group::State::runnable; });
        if (runs && (!snapshots_[warp->index].alone || snapshots_[warp->index].outside != outside)) return false;
    }
    return true;
}

bool Block::all_spin() const {
    bool any = false;
    for (const auto& warp : warps) {
        const bool runs = std::any_of(warp->groups.begin(), warp->groups.end(),
                                      [](const Group& group) { return group.state == Group::State::runnable; });
        if (!runs) continue;
        const Snapshot& snapshot = snapshots_[warp->index];
        if (!snapshot.same || snapshot.changes != changes) return false;
        any = true;
    }
    return any;
}

}  // namespace recuda::vgpu
