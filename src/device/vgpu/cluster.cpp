#include "device/vgpu/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>
#include <utility>

namespace recuda::vgpu {

void Cluster::start(Worker& worker, uint64_t number) {
    LaunchState& launch = worker.launch;
    const Dim3 shape = launch.cluster;
    const auto ranks = static_cast<uint32_t>(shape.volume());
    if (launch_ != &launch) {
        launch_ = &launch;
        blocks_.clear();
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            blocks_.push_back(std::make_unique<Block>());
            blocks_[rank]->cluster = this;
            blocks_[rank]->rank = rank;
        }
        order_.resize(ranks);
    }
    number_ = number;
    phases_ = spin_epoch = expired_at_ = 0;
    busy = polls = false;
    arriving_ = false;
    patient_ = true;
    done_.assign(ranks, false);
    transfers.start();
    if (ranks == 1) {
        arrivals_.assign(launch.warps, {});
        blocks_[0]->start(worker, number);
        return;
    }
    arrivals_.assign(uint64_t{ranks} * launch.warps, {});
    gathered_ = met_ = {};
    places_.clear();
    std::iota(order_.begin(), order_.end(), 0);
    if (launch.schedule != 0) {
        std::mt19937_64 random(launch.schedule * 0x9e3779b97f4a7c15u + ~number);
        std::shuffle(order_.begin(), order_.end(), random);
    }
    for (uint32_t rank = 0; rank < ranks; ++rank) blocks_[rank]->start(worker, linear_of(rank), &places_);
}

uint64_t Cluster::linear_of(uint32_t rank) const {
    const Dim3 shape = launch_->cluster, grid = launch_->grid;
    const uint64_t wide = grid.x / shape.x, high = grid.y / shape.y;
    const uint64_t x = number_ % wide * shape.x + rank % shape.x,
                   y = number_ / wide % high * shape.y + rank / shape.x % shape.y,
                   z = number_ / wide / high * shape.z + rank / shape.x / shape.y;
    return x + grid.x * (y + grid.y * z);
}

uint64_t Cluster::changes() const {
    uint64_t sum = 0;
    for (const auto& block : blocks_) sum += block->changes;
    return sum;
}

uint64_t Cluster::outside() const {
    uint64_t sum = 0;
    for (const auto& block : blocks_) sum += block->outside;
    return sum;
}

Block::State Cluster::run(Worker& worker, int64_t slice) {
    using State = Block::State;
    if (blocks_.size() == 1) {
        const State state = blocks_[0]->run(worker, slice);
        patient_ = true;
        if (state == State::finished && !blocks_[0]->stopped) transfers.finish(*blocks_[0]);
        if (state != State::waiting) return state;
        if (resume_stuck()) return State::ready;
        check_stuck();
        return State::finished;
    }
    const auto failed = [&] {
        return launch_->stop || std::any_of(blocks_.begin(), blocks_.end(), [](const auto& b) { return b->stopped; });
    };
    for (auto& block : blocks_) block->worker = &worker;
    for (int64_t used = 0; used < slice;) {
        const uint64_t before = changes(), phase = phases_;
        bool progress = false, spins = false, yields = false;
        for (const uint32_t rank : order_) {
            if (done_[rank]) continue;
            Block& block = *blocks_[rank];
            const uint64_t executed = block.executed;
            const State state = block.run(worker, slice / static_cast<int64_t>(blocks_.size()));
            used += static_cast<int64_t>(block.executed - executed);
            if (failed()) return State::finished;
            if (state == State::finished) {
                done_[rank] = true;
                transfers.finish(block);
                if (launch_->checks) block.shared.check_left(block);
                if (failed()) return State::finished;
            }
            progress = progress || state == State::ready || state == State::finished;
            spins = spins || state == State::spinning;
            yields = yields || state == State::yielding;
        }
        patient_ = true;
        if (std::all_of(done_.begin(), done_.end(), [](bool done) { return done; })) return State::finished;
        if (yields) return State::yielding;
        if (progress || changes() != before || phases_ != phase) continue;
        if (resume_stuck()) continue;
        if (spins) return State::spinning;
        check_stuck();
        return State::finished;
    }
    return State::ready;
}

bool Cluster::defer(Warp& warp, const Instruction& in) {
    if (!patient_ || in.mix == Mix::atomic || (in.mode & kOnce) != 0) return false;
    Mask lanes = warp.active;
    if (in.guard != Instruction::kNoGuard)
        lanes &= in.guard_negated ? ~warp.predicate(in.guard) : warp.predicate(in.guard);
    warp.wait(in, lanes, Group::State::at_peer, kClusterBarrier, 0);
    return true;
}

bool Cluster::resume(Group::State state) {
    bool any = false;
    for (const auto& block : blocks_)
        for (const auto& warp : block->warps)
            for (Group& group : warp->groups) {
                if (group.state != state) continue;
                group.state = Group::State::runnable;
                if (state == Group::State::at_phase) warp->expired |= group.lanes;
                any = true;
            }
    return any;
}

bool Cluster::resume_deferred() {
    if (!resume(Group::State::at_peer)) return false;
    patient_ = false;
    return true;
}

/// Lets go on who may when nothing else can: reads that were put off, else waits for phases, which give up once
/// between two changes.
bool Cluster::resume_stuck() {
    if (resume_deferred()) return true;
    const uint64_t now = 1 + changes() + phases_;
    return std::exchange(expired_at_, now) != now && resume(Group::State::at_phase);
}

void Cluster::phase_over() {
    ++phases_;
    for (const auto& block : blocks_)
        for (const auto& warp : block->warps)
            for (Group& group : warp->groups)
                if (group.state == Group::State::at_phase) group.state = Group::State::runnable;
}

void Cluster::check_stuck() {
    // Who waits for its own block alone is nearer to the cause than who waits for the cluster.
    Block* first = nullptr;
    for (size_t rank = 0; rank < blocks_.size(); ++rank) {
        if (done_[rank]) continue;
        Block& block = *blocks_[rank];
        const bool alone = std::any_of(block.warps.begin(), block.warps.end(), [](const auto& warp) {
            return std::any_of(warp->groups.begin(), warp->groups.end(),
                               [](const Group& group) { return group.barrier < kClusterBarrier; });
        });
        if (alone) return block.check_stuck();
        if (first == nullptr) first = &block;
    }
    if (first != nullptr) first->check_stuck();
}

void Cluster::runaway(Worker& worker, const char* why) {
    for (auto& block : blocks_) {
        block->worker = &worker;
        for (auto& warp : block->warps) {
            const bool runs = std::any_of(warp->groups.begin(), warp->groups.end(),
                                          [](const Group& group) { return group.state == Group::State::runnable; });
            if (runs) return block->runaway(*warp, why);
        }
    }
}

Cluster::Arrivals& Cluster::arrivals(const Warp& warp) {
    return arrivals_[uint64_t{warp.block->rank} * launch_->warps + warp.index];
}

void Cluster::arrive(Warp& warp, const Instruction& in, Mask lanes, bool releases) {
    Arrivals& own = arrivals(warp);
    if (const Mask again = lanes & (own.now | own.owed); again != 0) {
        warp.fault(
            in, again,
            {.check = Check::illegal_instruction,
             .message = fmt::format("lanes {:#x} arrive at the cluster's barrier again without having waited for "
                                    "their last arrival",
                                    again)});
        return;
    }
    own.now |= lanes;
    arriving_ = true;
    if (launch_->checks && releases) warp.block->order.release(warp.index, gathered_);
    if (complete()) release();
}

void Cluster::wait(Warp& warp, const Instruction& in, Mask lanes) {
    Arrivals& own = arrivals(warp);
    if (const Mask over = lanes & own.owed; over != 0) {
        own.owed &= ~over;
        lanes &= ~over;
        if (launch_->checks) warp.block->order.acquire(warp.index, met_);
    }
    if (lanes == 0 || warp.block->diverges(warp, in, lanes)) return;
    warp.wait(in, lanes, Group::State::at_barrier, kClusterBarrier, kFullMask);
}

bool Cluster::complete() const {
    for (const auto& block : blocks_)
        for (const auto& warp : block->warps)
            if ((warp->alive & ~arrivals_[uint64_t{block->rank} * launch_->warps + warp->index].now) != 0) return false;
    return true;
}

void Cluster::release() {
    ++phases_;
    arriving_ = false;
    met_ = std::exchange(gathered_, {});
    for (Arrivals& own : arrivals_) own.owed |= std::exchange(own.now, 0);
    for (const auto& block : blocks_)
        for (const auto& warp : block->warps) {
            Arrivals& own = arrivals(*warp);
            own.owed &= warp->alive;
            for (Group& group : warp->groups) {
                if (group.state != Group::State::at_barrier || group.barrier != kClusterBarrier ||
                    (group.lanes & ~own.owed) != 0)
                    continue;
                group.state = Group::State::runnable;
                own.owed &= ~group.lanes;
                if (launch_->checks) block->order.acquire(warp->index, met_);
            }
        }
}

void Cluster::threads_ended() {
    if (arriving_ && complete()) release();
}

}  // namespace recuda::vgpu
