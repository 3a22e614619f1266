// A block's barriers: who has come, who waits, who goes on, and who waits for ever.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "device/vgpu/block.h"
#include "device/vgpu/cluster.h"

namespace recuda::vgpu {
namespace {

std::string barrier_name(uint8_t number) {
    if (number == kPhaseWait) return "an mbarrier";
    if (number == kWarpgroupWait) return "a product of the whole warpgroup";
    return number == kClusterBarrier ? "the cluster's barrier" : fmt::format("barrier {}", number);
}

}  // namespace

bool Block::waits_for_cluster() const {
    return std::any_of(warps.begin(), warps.end(), [](const auto& warp) {
        return std::any_of(warp->groups.begin(), warp->groups.end(),
                           [](const Group& group) { return group.barrier >= kClusterBarrier; });
    });
}

bool Block::complete(const Barrier& barrier) const {
    if (!barrier.in_use) return false;
    if (barrier.expected != 0) return barrier.arrived >= barrier.expected;
    for (const auto& warp : warps)
        if ((warp->alive & ~barrier.lanes[warp->index]) != 0) return false;
    return true;
}

bool Block::diverges(Warp& warp, const Instruction& in, Mask lanes) {
    for (const Group& group : warp.groups) {
        if (group.state != Group::State::at_barrier || group.at == &in) continue;
        const uint32_t line = line_of(in, warp.frame), other = line_of(*group.at, group.frame);
        const bool first = group.at->index < in.index;
        const uint32_t here = warp.thread(std::countr_zero(lanes)), there = warp.thread(std::countr_zero(group.lanes));
        raise(
            first ? other : line, first ? there : here, std::popcount(lanes | group.lanes),
            {.check = Check::divergent_barrier,
             .message = fmt::format("lanes {:#x} of a warp wait at this barrier and lanes {:#x} at the one of line {}",
                                    first ? group.lanes : lanes, first ? lanes : group.lanes, first ? line : other),
             .other = OtherAccess{first ? line : other, id, launch->thread_at(first ? here : there)}});
        return true;
    }
    return false;
}

void Block::arrive(Warp& warp, const Instruction& in, uint32_t number, uint32_t count, Mask lanes, bool waits,
                   Mask votes) {
    if (waits && diverges(warp, in, lanes)) return;
    if (worker->tally.on && live_threads < launch->threads) ++worker->tally.memory[in.index].early_exits;
    if (warp.barriers_left > 0) {
        --warp.barriers_left;
        warp.fuel = std::min(launch->fuel, warp.fuel + kFuelOfBarrier);
    }
    Barrier& barrier = barriers[number];
    if (!barrier.in_use) {
        barrier = {.in_use = true, .expected = count, .lanes = std::vector<Mask>(warps.size(), 0), .clock = {}};
        ++worker->tally.barriers;
    }
    barrier.popc += std::popcount(lanes & votes);
    barrier.all = barrier.all && (lanes & ~votes) == 0;
    barrier.any = barrier.any || (lanes & votes) != 0;
    Mask& here = barrier.lanes[warp.index];
    const auto threads = [&](Mask mask) {
        return (warp.alive & ~mask) == 0 ? kLanes : static_cast<uint32_t>(std::popcount(mask));
    };
    if (barrier.expected == 0) {
        here |= lanes;
    } else {
        if ((here & lanes) != 0) here = 0;  // it comes again before the barrier is complete
        const uint32_t before = here == 0 ? 0 : threads(here);
        here |= lanes;
        barrier.arrived += threads(here) - before;
    }
    if (launch->checks && barrier.expected != 0) order.release(warp.index, barrier.clock);
    if (complete(barrier)) release(number);
}

void Block::release(uint32_t number) {
    Barrier barrier = std::move(barriers[number]);
    barriers[number] = {};
    released_ = true;
    if (launch->checks && barrier.expected == 0) order.sync_block();
    for (auto& warp : warps) {
        for (Group& group : warp->groups) {
            if (group.state != Group::State::at_barrier || group.barrier != number) continue;
            group.state = Group::State::runnable;
            if (launch->checks && barrier.expected != 0) order.acquire(warp->index, barrier.clock);
            if (group.at->width == 0) continue;
            // A reduction: every waiting lane gets the result.
            std::byte* at = group.frame->registers + group.at->d;
            if (group.at->width == 1) {
                for (Mask rest = group.lanes; rest != 0; rest &= rest - 1)
                    reinterpret_cast<uint32_t*>(at)[std::countr_zero(rest)] = barrier.popc;
            } else {
                Mask& result = *reinterpret_cast<Mask*>(at);
                result =
                    (result & ~group.lanes) | ((group.at->width == 2 ? barrier.all : barrier.any) ? group.lanes : 0);
            }
        }
    }
}

void Block::threads_ended(uint32_t count) {
    live_threads -= count;
    cluster->threads_ended();
    if (live_threads == 0) return;
    for (uint32_t number = 0; number < 16; ++number)
        if (complete(barriers[number])) release(number);
}

void Block::check_stuck() {
    // First who waits for lanes of its own warp that will not come.
    for (const auto& warp : warps)
        for (const Group& group : warp->groups) {
            if (group.state != Group::State::at_warp_sync) continue;
            raise(line_of(*group.at, group.frame), warp->thread(std::countr_zero(group.lanes)),
                  std::popcount(group.lanes),
                  {.check = Check::absent_lane,
                   .message = fmt::format("lanes {:#x} wait here for lanes {:#x} of their warp, which never come",
                                          group.lanes, group.needed & warp->alive & ~group.lanes)});
            return;
        }
    const Warp* first = nullptr;
    const Group* place = nullptr;
    std::string who;
    std::optional<OtherAccess> other;
    uint32_t waiting = 0;
    for (const auto& warp : warps)
        for (const Group& group : warp->groups) {
            const uint32_t thread = warp->thread(std::countr_zero(group.lanes));
            waiting += std::popcount(group.lanes);
            if (place == nullptr)
                first = warp.get(), place = &group;
            else if (group.at != place->at && !other) {
                other = OtherAccess{line_of(*group.at, group.frame), id, launch->thread_at(thread)};
                who += fmt::format("; others wait at {} at line {}", barrier_name(group.barrier), other->line);
            }
        }
    if (place->barrier < kClusterBarrier && barriers[place->barrier].expected != 0)
        who = fmt::format(", which has {} of {} threads", barriers[place->barrier].arrived,
                          barriers[place->barrier].expected) +
              who;
    raise(line_of(*place->at, place->frame), first->thread(std::countr_zero(place->lanes)), waiting,
          {.check = Check::deadlock,
           .message = fmt::format("{} threads wait for ever: here at {}{}", waiting, barrier_name(place->barrier), who),
           .other = other});
}

}  // namespace recuda::vgpu
