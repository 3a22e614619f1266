#include "device/vgpu/memory/order.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace recuda::vgpu {

void Order::prepare(uint32_t threads, bool flags, bool narrow) {
    threads_ = threads;
    warps_ = (threads + kLanes - 1) / kLanes;
    flags_ = flags;
    first_scope_ = narrow ? 0 : static_cast<uint32_t>(Scope::gpu);
    now_ = 1;
    join_cluster(0, 1);
}

void Order::join_cluster(uint32_t rank, uint32_t ranks) {
    rank_ = rank;
    ranks_ = ranks;
    base_ = rank * warps_;
    total_ = ranks * warps_;
}

bool Order::restart() {
    if (now_ <= 0xf0000000u) return false;
    now_ = 1;
    return true;
}

void Order::begin(std::vector<uint32_t> numbers) {
    numbers_ = std::move(numbers);
    number_ = rank_ < numbers_.size() ? numbers_[rank_] : 0;
    start_ = block_seen_ = now_ + 1;
    now_ = start_ + 1;
    warp_seen_.assign(warps_, start_);
    partial_ = false;
    if (ranks_ > 1) allocate_pairs();
    lanes_.clear();
    dirty_ = false;
    dirty_warps_ = 0;
    if (flags_ && (used_ || by_thread_.size() != threads_)) by_thread_.assign(threads_, {});
    used_ = false;
}

bool Order::in_order(uint32_t thread, uint32_t other, uint32_t stamp) const {
    if (stamp <= block_seen_ || other == thread) return true;
    const uint32_t warp = thread / kLanes;
    if (other / kLanes == warp) {
        if (stamp <= warp_seen_[warp]) return true;
        if (!lanes_.empty()) {
            const auto met = lanes_.find(warp);
            if (met != lanes_.end() && stamp <= met->second[thread % kLanes * kLanes + other % kLanes]) return true;
        }
    } else if (partial_ && stamp <= pairs_[warp * total_ + base_ + other / kLanes]) {
        return true;
    }
    return flags_ && in_order_by_flags(thread, number_, other, stamp);
}

bool Order::in_order(uint32_t thread, uint32_t rank, uint32_t other, uint32_t stamp) const {
    if (rank == rank_) return in_order(thread, other, stamp);
    if (partial_ && stamp <= pairs_[thread / kLanes * total_ + rank * warps_ + other / kLanes]) return true;
    return flags_ && in_order_by_flags(thread, numbers_[rank], other, stamp);
}

bool Order::in_order_by_flags(uint32_t thread, uint32_t block, uint32_t other, uint32_t stamp) const {
    return flags_ && covers(by_thread_[thread].known, block, other, stamp);
}

bool Order::lacks_fence(uint32_t thread, uint32_t block, uint32_t other, uint32_t stamp) const {
    if (!flags_) return false;
    const auto& taken = by_thread_[thread].taken;
    return std::any_of(std::begin(taken), std::end(taken),
                       [&](const View& view) { return covers(view, block, other, stamp); });
}

bool Order::anyone_in_order(uint32_t rank, uint32_t other, uint32_t stamp) const {
    for (uint32_t warp = 0; warp < warps_ && partial_; ++warp)
        if (stamp <= pairs_[warp * total_ + rank * warps_ + other / kLanes]) return true;
    for (uint32_t thread = 0; thread < by_thread_.size(); ++thread)
        if (in_order_by_flags(thread, numbers_[rank], other, stamp)) return true;
    return false;
}

void Order::sync_block() {
    block_seen_ = now_++;
    if (dirty_) {
        Views views;
        for (uint32_t scope = first_scope_; scope < kScopes; ++scope) {
            // What every thread has fenced is one entry for the block, so that what is handed on stays small.
            const auto least = [&](const Thread& a, const Thread& b) {
                return a.fenced[scope].own < b.fenced[scope].own;
            };
            const uint32_t common = std::min_element(by_thread_.begin(), by_thread_.end(), least)->fenced[scope].own;
            if (common != 0) join(views.fenced[scope], {{Known::all(number_), common}});
            for (uint32_t warp = 0; warp < warps_; ++warp) leave_fenced(warp, scope, common, views);
        }
        for (uint32_t warp = 0; warp < warps_; ++warp) leave(warp, views);
        for (Thread& thread : by_thread_) {
            thread = {};
            take(thread, views);
        }
        dirty_ = false;
        dirty_warps_ = 0;
    }
    if (ranks_ == 1) return;
    // What one warp was ordered behind in other blocks, all of them are now.
    for (uint32_t other = 0; other < total_; ++other) {
        uint32_t latest = other - base_ < warps_ ? block_seen_ : 0;
        for (uint32_t warp = 0; warp < warps_; ++warp) latest = std::max(latest, pairs_[warp * total_ + other]);
        for (uint32_t warp = 0; warp < warps_; ++warp) pairs_[warp * total_ + other] = latest;
    }
}

void Order::allocate_pairs() {
    pairs_.assign(uint64_t{warps_} * total_, 0);
    for (uint32_t warp = 0; warp < warps_; ++warp)
        std::fill_n(pairs_.begin() + uint64_t{warp} * total_ + base_, warps_, start_);
    partial_ = true;
}

void Order::sync_warp(uint32_t warp, Mask lanes, Mask alive) {
    const bool whole = (alive & ~lanes) == 0;
    if ((dirty_warps_ >> warp & 1) != 0) {
        meet(warp * kLanes, lanes);
        if (whole) dirty_warps_ &= ~(1u << warp);
    }
    if (whole) {
        warp_seen_[warp] = now_++;
        return;
    }
    std::vector<uint32_t>& met = lanes_[warp];
    if (met.empty()) met.assign(kLanes * kLanes, start_);
    // What one of them was ordered behind, all of them are now.
    uint32_t joined[kLanes] = {};
    for (Mask rest = lanes; rest != 0; rest &= rest - 1)
        for (uint32_t other = 0; other < kLanes; ++other)
            joined[other] = std::max(joined[other], met[std::countr_zero(rest) * kLanes + other]);
    for (Mask rest = lanes; rest != 0; rest &= rest - 1) joined[std::countr_zero(rest)] = now_;
    for (Mask rest = lanes; rest != 0; rest &= rest - 1)
        std::copy(joined, joined + kLanes, met.begin() + std::countr_zero(rest) * kLanes);
    ++now_;
}

void Order::release(uint32_t warp, Clock& clock) {
    clock.seen.resize(total_, 0);
    if (partial_)
        for (uint32_t other = 0; other < total_; ++other)
            clock.seen[other] = std::max(clock.seen[other], pairs_[warp * total_ + other]);
    if (ranks_ > 1)
        for (uint32_t other = base_; other < base_ + warps_; ++other)
            clock.seen[other] = std::max(clock.seen[other], block_seen_);
    clock.seen[base_ + warp] = std::max(clock.seen[base_ + warp], now_);
    if (flags_) {
        leave(warp, clock.views);
        for (uint32_t scope = first_scope_; scope < kScopes; ++scope) leave_fenced(warp, scope, 0, clock.views);
    }
    ++now_;
}

void Order::acquire(uint32_t warp, const Clock& clock) {
    if (!partial_) allocate_pairs();
    for (uint32_t other = 0; other < clock.seen.size(); ++other) {
        uint32_t& seen = pairs_[warp * total_ + other];
        seen = std::max(seen, clock.seen[other]);
    }
    // Lanes of the warp itself: they waited together.
    warp_seen_[warp] = now_++;
    if (!flags_) return;
    for (uint32_t lane = 0; lane < kLanes && warp * kLanes + lane < threads_; ++lane)
        take(by_thread_[warp * kLanes + lane], clock.views);
    dirty_ = used_ = true;
    dirty_warps_ |= 1u << warp;
}

}  // namespace recuda::vgpu
