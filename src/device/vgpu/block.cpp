#include "device/vgpu/block.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <random>
#include <utility>

#include "device/vgpu/cluster.h"
#include "device/vgpu/memory/layout.h"
#include "device/vgpu/ops/mbarrier.h"

namespace recuda::vgpu {
namespace {

constexpr int64_t kBarrierCost = 32;  // instructions that coming to a barrier counts as: what it costs here
constexpr int64_t kTurn = 4096;       // instructions of a warp before the next one runs

std::string barrier_name(const Block& block, const Warp& warp, const Group& group) {
    if (group.barrier == kPhaseWait) return describe_wait(block, warp, group);
    if (group.barrier == kWarpgroupWait) return "a product of the whole warpgroup";
    return group.barrier == kClusterBarrier ? "the cluster's barrier" : fmt::format("barrier {}", group.barrier);
}

bool has_effect(const Instruction& in) {
    return in.mix == Mix::memory || in.mix == Mix::shared || in.mix == Mix::atomic || in.mix == Mix::tensor ||
           in.mix == Mix::warp;
}

/// Lanes that run code behind the place where others of their warp wait for them.
bool passed_by(Warp& warp, const Instruction& in, Mask active) {
    for (const Group& group : warp.groups) {
        if (group.state == Group::State::runnable || (group.needed & active) == 0 || group.frame != warp.frame)
            continue;
        if (!warp.block->program().behind(group.at->index, in.index)) continue;
        const bool barrier = group.state == Group::State::at_barrier;
        const uint32_t line = warp.block->line_of(in, warp.frame);
        warp.fault(
            *group.at, group.lanes,
            {.check = barrier ? Check::divergent_barrier : Check::absent_lane,
             .message = fmt::format("lanes {:#x} wait at this {} while lanes {:#x} of their warp run on at line {}",
                                    group.lanes, barrier ? "barrier" : "warp-wide instruction", active, line)});
        return true;
    }
    return false;
}

template <bool kWatch, bool kCount>
void run_group(Warp& warp, const Instruction* code, Tally::Executed* executed) {
    while (warp.pc < warp.limit) {
        const Instruction& in = code[warp.pc++];
        Mask active = warp.active;
        if (in.guard != Instruction::kNoGuard)
            active &= in.guard_negated ? ~warp.predicate(in.guard) : warp.predicate(in.guard);
        if constexpr (kCount) {
            ++executed[in.index].warps;
            executed[in.index].lanes += std::popcount(active);
            if (in.mix == Mix::branch && active != 0 && active != warp.active) ++executed[in.index].divergent;
        }
        if (active == 0) continue;
        if constexpr (kWatch)
            if (has_effect(in) && passed_by(warp, in, active)) return;
        in.run(warp, in, active);
    }
}

}  // namespace

Worker::Worker(LaunchState& state) : launch(state), last_buffer(state.program->code.size(), nullptr) {
    tally.prepare(*state.program, state.count);
}

void Block::start(Worker& by, uint64_t number, SharedMemory::Places* places) {
    worker = &by;
    if (launch != &by.launch) {
        launch = &by.launch;
        warps.clear();
        for (uint32_t i = 0; i < launch->warps; ++i) {
            warps.push_back(std::make_unique<Warp>());
            warps.back()->index = i;
            warps.back()->block = this;
        }
        order.prepare(launch->threads, launch->checks && launch->program->orders, launch->program->narrow);
        shared.prepare(*launch->program, launch->dynamic_shared, order, launch->checks);
        order_.resize(launch->warps);
        snapshots_.resize(launch->warps);
    }
    const auto number_of = [&](uint64_t block) { return launch->first_block + static_cast<uint32_t>(block); };
    linear = number;
    id = launch->block_at(number);
    stopped = released_ = false;
    changes = executed = outside = 0;
    spins_ = 0;
    std::vector<uint32_t> numbers{number_of(number)};
    if (places != nullptr) {
        shared.join_cluster(rank, cluster->size(), places);
        order.join_cluster(rank, cluster->size());
        numbers.clear();
        for (uint32_t i = 0; i < cluster->size(); ++i) numbers.push_back(number_of(cluster->linear_of(i)));
    }
    const bool restarted = order.restart();
    order.begin(std::move(numbers));
    shared.begin(restarted);
    for (Barrier& barrier : barriers) barrier = {};
    warpgroups.assign(launch->warps / Warpgroup::kWarps, {});
    live_threads = launch->threads;
    for (Snapshot& snapshot : snapshots_) snapshot.valid = snapshot.same = false;
    std::iota(order_.begin(), order_.end(), 0);
    if (launch->schedule != 0) {
        std::mt19937_64 random(launch->schedule * 0x9e3779b97f4a7c15u + number);
        std::shuffle(order_.begin(), order_.end(), random);
    }
    for (auto& warp : warps) {
        const uint32_t threads = std::min(kLanes, launch->threads - warp->index * kLanes);
        warp->alive = threads == kLanes ? kFullMask : (1u << threads) - 1;
        warp->start(*launch->program->entry);
    }
    ++by.tally.blocks;
    by.tally.threads += launch->threads;
    by.tally.warps += launch->warps;
}

void Block::run_warp(Warp& warp) {
    const Instruction* code = program().code.data();
    Tally::Executed* counts = worker->tally.executed.data();
    const bool count = worker->tally.on;
    warp.budget = kTurn;
    warp.limit = 0;
    while (!stopped) {
        warp.park();
        if (warp.budget <= 0 || !warp.pick()) break;
        const bool watch = std::any_of(warp.groups.begin(), warp.groups.end(),
                                       [](const Group& group) { return group.state != Group::State::runnable; });
        if (watch)
            count ? run_group<true, true>(warp, code, counts) : run_group<true, false>(warp, code, counts);
        else
            count ? run_group<false, true>(warp, code, counts) : run_group<false, false>(warp, code, counts);
        // Who completes a barrier goes on in its turn, so that the first warps are the first behind it too.
        if (std::exchange(released_, false)) break;
    }
    warp.park();
    const int64_t used = kTurn - warp.budget;
    executed += used;
    if (stopped) return;
    if (used > 0 && warp.waits() && warp.fuel <= static_cast<uint64_t>(used))
        return runaway(warp, "it has used up all instructions that a warp may run");
    if (warp.budget <= 0) {
        compare_snapshot(warp);
    } else {
        snapshots_[warp.index].valid = snapshots_[warp.index].same = false;
    }
    warp.fuel -= std::min<uint64_t>(warp.fuel, std::max<int64_t>(used, 0));
}

Block::State Block::run(Worker& by, int64_t slice) {
    worker = &by;
    const uint64_t end = executed + slice;
    for (;;) {
        bool progress = false;
        for (const uint32_t index : order_) {
            Warp& warp = *warps[index];
            if (!std::any_of(warp.groups.begin(), warp.groups.end(),
                             [](const Group& group) { return group.state == Group::State::runnable; }) &&
                warp.active == 0)
                continue;
            progress = true;
            run_warp(warp);
            if (stopped) return State::finished;
        }
        if (live_threads == 0) return State::finished;
        if (!progress) {
            if (waits_for_cluster()) return State::waiting;
            check_stuck();
            return State::finished;
        }
        if (launch->stop) return State::finished;
        if (std::chrono::steady_clock::now() > launch->deadline) {
            launch->timed_out = launch->stop = true;
            return State::finished;
        }
        if (!all_spin()) {
            spins_ = 0;
        } else if (spins_alone()) {
            for (const uint32_t index : order_)
                if (snapshots_[index].same && !stopped)
                    runaway(*warps[index], "it waits for something that no thread will change");
            return State::finished;
        } else if (++spins_ > 1) {
            return State::spinning;
        }
        if (executed >= end) return State::ready;
    }
}

uint32_t Block::line_of(const Instruction& in, const Frame* frame) const {
    if (program().ptx_lines) return in.ptx_line;
    uint32_t line = in.source_line;
    for (; line == 0 && frame != nullptr && frame->caller != nullptr; frame = frame->caller)
        line = program().code[frame->return_pc - 1].source_line;
    return line;
}

void Block::raise(uint32_t line, uint32_t thread, uint32_t count, Fault fault) {
    Report report;
    report.check = fault.check;
    report.message = std::move(fault.message);
    report.file = launch->file;
    report.line = line;
    report.kernel = launch->kernel;
    report.block = fault.block ? launch->block_at(*fault.block) : id;
    report.thread = launch->thread_at(thread);
    report.buffer = std::move(fault.buffer);
    report.byte_offset = fault.byte_offset;
    report.bytes = fault.bytes;
    report.other = fault.other;
    report.count = count;
    launch->faulted = true;
    worker->faults.add(report, fault.block.value_or(linear), thread);
    stop();
}

void Block::stop() {
    stopped = true;
    for (auto& warp : warps) warp->limit = 0;
}

bool Block::waits_for_cluster() const {
    return std::any_of(warps.begin(), warps.end(), [](const auto& warp) {
        return std::any_of(warp->groups.begin(), warp->groups.end(),
                           [](const Group& group) { return group.barrier >= kClusterBarrier; });
    });
}

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
                       std::memcmp(known.registers.data(), running->frame->registers, bytes) == 0;
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
        const bool defers = std::any_of(warp->groups.begin(), warp->groups.end(),
                                        [](const Group& group) { return group.state == Group::State::at_peer; });
        if (defers) return false;
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
    warp.budget -= kBarrierCost;
    if (worker->tally.on && live_threads < launch->threads) ++worker->tally.memory[in.index].early_exits;
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
    if (launch->checks && barrier.expected == 0) {
        order.sync_block();
        shared.settle_flights();
    }
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
                who += fmt::format("; others wait at {} at line {}", barrier_name(*this, *warp, group), other->line);
            }
        }
    if (place->barrier < kClusterBarrier && barriers[place->barrier].expected != 0)
        who = fmt::format(", which has {} of {} threads", barriers[place->barrier].arrived,
                          barriers[place->barrier].expected) +
              who;
    raise(line_of(*place->at, place->frame), first->thread(std::countr_zero(place->lanes)), waiting,
          {.check = Check::deadlock,
           .message =
               fmt::format("{} threads wait for ever: here at {}{}", waiting, barrier_name(*this, *first, *place), who),
           .other = other});
}

}  // namespace recuda::vgpu
