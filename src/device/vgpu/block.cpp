#include "device/vgpu/block.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <random>
#include <utility>

#include "device/vgpu/assignment.h"
#include "device/vgpu/cluster.h"
#include "device/vgpu/memory/layout.h"

namespace recuda::vgpu {
namespace {

constexpr uint64_t kMaxPrintedBytes = 1u << 20;  // by one launch, as CUDA's buffer holds unless it is told otherwise
constexpr int64_t kTurn = 4096;                  // instructions of a warp before the next one runs

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
        if (in.guard != Instruction::kNoGuard) {
            if (in.guard_tracked && report_guard(warp, in, active)) [[unlikely]]
                return;
            active &= in.guard_negated ? ~warp.predicate(in.guard) : warp.predicate(in.guard);
        }
        if constexpr (kCount) {
            ++executed[in.index].warps;
            // A branch is run by all lanes, whether they take it or not.
            executed[in.index].lanes += std::popcount(in.mix == Mix::branch ? warp.active : active);
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

bool Worker::may_print() const { return launch.printed_bytes.load() <= kMaxPrintedBytes; }

void Worker::print(uint64_t block, std::string text) {
    const uint64_t before = launch.printed_bytes.fetch_add(text.size());
    if (before > kMaxPrintedBytes) return;
    if (before + text.size() > kMaxPrintedBytes) {
        text.resize(kMaxPrintedBytes - before);
        text += "\n[what the kernel prints beyond 1 MiB is left out]\n";
    }
    printed.emplace_back(block, std::move(text));
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
    stopped = released_ = yielding_ = false;
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
            if (std::exchange(yielding_, false) && live_threads != 0) return State::yielding;
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
        if (!all_spin() || (cluster->size() == 1 && cluster->resume_deferred())) {
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

void Block::show_flag(Warp& warp) {
    if (launch->spinning == 0) return;
    yielding_ = released_ = true;
    warp.limit = 0;
}

void Block::stop() {
    stopped = true;
    for (auto& warp : warps) warp->limit = 0;
}

}  // namespace recuda::vgpu
