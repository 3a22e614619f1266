// Order by flags: fences, strong accesses, and what they hand on (order.h).
#include <algorithm>
#include <bit>

#include "device/vgpu/memory/order.h"

namespace recuda::vgpu {

uint32_t Order::owner(Scope scope) const {
    return scope == Scope::gpu ? 0 : scope == Scope::cluster ? numbers_.front() : number_;
}

/// All that the lane has been ordered behind, without its own accesses since.
View Order::view_of(uint32_t warp, uint32_t lane) const {
    std::vector<Known::Entry> entries{{Known::all(number_), block_seen_}};
    if (warp_seen_[warp] > block_seen_) entries.push_back({Known::warp(number_, warp), warp_seen_[warp]});
    if (const auto met = lanes_.find(warp); met != lanes_.end())
        for (uint32_t other = 0; other < kLanes; ++other)
            if (const uint32_t stamp = met->second[lane * kLanes + other]; stamp > warp_seen_[warp])
                entries.push_back({Known::thread(number_, warp * kLanes + other), stamp});
    for (uint32_t other = 0; other < total_ && partial_; ++other) {
        const uint32_t stamp = pairs_[warp * total_ + other];
        if (const uint32_t agents = ranks_ * warps_; other >= agents) {
            if (stamp != 0)
                entries.push_back(
                    {Known::agent(numbers_[(other - agents) / kAgents], (other - agents) % kAgents), stamp});
            continue;
        }
        const uint32_t rank = other / warps_;
        if (stamp != 0 && other != base_ + warp && (rank != rank_ || stamp > block_seen_))
            entries.push_back({Known::warp(numbers_[rank], other % warps_), stamp});
    }
    View view = by_thread_[warp * kLanes + lane].known;
    join(view, std::move(entries));
    return view;
}

void Order::fence(uint32_t warp, Mask lanes, Scope scope, bool acquires, bool releases) {
    if (!flags_) return;
    View last;
    const Known* from = nullptr;
    for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
        const uint32_t lane = std::countr_zero(rest);
        Thread& thread = by_thread_[warp * kLanes + lane];
        for (uint32_t s = first_scope_; s <= static_cast<uint32_t>(scope) && acquires; ++s) {
            join(thread.known, thread.taken[s]);
            thread.taken[s] = nullptr;
        }
        if (!releases) continue;
        // Lanes that know the same share one view.
        if (last == nullptr || from != thread.known.get() || lanes_.contains(warp)) last = view_of(warp, lane);
        from = thread.known.get();
        for (uint32_t s = first_scope_; s <= static_cast<uint32_t>(scope); ++s) thread.fenced[s] = {last, now_};
    }
    ++now_;
    dirty_ = used_ = true;
    dirty_warps_ |= 1u << warp;
}

bool Order::strong_read(uint32_t index, const Place& place, uint8_t mode) {
    if (!flags_) return false;
    bool learns = false;
    Thread& thread = by_thread_[index];
    for (uint32_t s = first_scope_; s <= static_cast<uint32_t>(scope_of(mode)); ++s)
        for (const Place::Left& left : place.left) {
            if (left.scope != static_cast<Scope>(s) || left.owner != owner(left.scope)) continue;
            const bool acquires = (mode & kAcquires) != 0;
            if (left.view == thread.polled && thread.acquired >= acquires) continue;
            const bool news = join(acquires ? thread.known : thread.taken[s], left.view);
            thread.polled = left.view;
            thread.acquired = acquires;
            if (!news) continue;
            learns = dirty_ = used_ = true;
            dirty_warps_ |= 1u << index / kLanes;
        }
    return learns;
}

bool Order::strong_write(uint32_t index, Place& place, uint8_t mode, bool keeps) {
    if (!flags_) return false;
    bool leaves = false;
    if ((mode & kReleases) != 0) fence(index / kLanes, Mask{1} << index % kLanes, scope_of(mode), false, true);
    if (!keeps) place.left.clear();
    Thread& thread = by_thread_[index];
    for (uint32_t s = first_scope_; s <= static_cast<uint32_t>(scope_of(mode)); ++s) {
        const Fenced& fenced = thread.fenced[s];
        if (fenced.view == nullptr && fenced.own == 0) continue;
        const auto scope = static_cast<Scope>(s);
        auto left = std::find_if(place.left.begin(), place.left.end(), [&](const Place::Left& known) {
            return known.scope == scope && known.owner == owner(scope);
        });
        if (left == place.left.end()) left = place.left.insert(left, {scope, owner(scope), nullptr});
        leaves |= join(left->view, fenced.view);
        if (fenced.own != 0) leaves |= join(left->view, {{Known::thread(number_, index), fenced.own}});
    }
    return leaves;
}

void Order::leave(uint32_t warp, Views& views) const {
    const uint32_t first = warp * kLanes, last = std::min(threads_, first + kLanes);
    // Most lanes share their views with the one before.
    const auto add = [&](View& to, auto view_of) {
        for (uint32_t index = first; index < last; ++index)
            if (index == first || view_of(by_thread_[index]) != view_of(by_thread_[index - 1]))
                join(to, view_of(by_thread_[index]));
    };
    add(views.known, [](const Thread& thread) -> const View& { return thread.known; });
    for (uint32_t s = first_scope_; s < kScopes; ++s) {
        add(views.taken[s], [s](const Thread& thread) -> const View& { return thread.taken[s]; });
        add(views.fenced[s], [s](const Thread& thread) -> const View& { return thread.fenced[s].view; });
    }
}

/// The warp's threads' own accesses that they have fenced, but for those up to the stamp `common`.
void Order::leave_fenced(uint32_t warp, uint32_t scope, uint32_t common, Views& views) const {
    const uint32_t first = warp * kLanes, last = std::min(threads_, first + kLanes);
    uint32_t least = ~0u;
    for (uint32_t index = first; index < last; ++index) {
        const Fenced& fenced = by_thread_[index].fenced[scope];
        least = std::min(least, fenced.own);
    }
    std::vector<Known::Entry> entries;
    if (least > common) entries.push_back({Known::warp(number_, warp), least});
    for (uint32_t index = first; index < last; ++index)
        if (const uint32_t own = by_thread_[index].fenced[scope].own; own > std::max(common, least))
            entries.push_back({Known::thread(number_, index), own});
    join(views.fenced[scope], std::move(entries));
}

void Order::take(Thread& thread, const Views& views) {
    join(thread.known, views.known);
    for (uint32_t s = first_scope_; s < kScopes; ++s) {
        join(thread.taken[s], views.taken[s]);
        join(thread.fenced[s].view, views.fenced[s]);
    }
}

/// Lanes of a warp hand on to each other what they know, have fenced and have taken.
void Order::meet(uint32_t first, Mask lanes) {
    Views views;
    for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
        const uint32_t index = first + std::countr_zero(rest);
        const Thread& thread = by_thread_[index];
        join(views.known, thread.known);
        for (uint32_t s = first_scope_; s < kScopes; ++s) {
            join(views.taken[s], thread.taken[s]);
            join(views.fenced[s], thread.fenced[s].view);
            if (thread.fenced[s].own != 0)
                join(views.fenced[s], {{Known::thread(number_, index), thread.fenced[s].own}});
        }
    }
    for (Mask rest = lanes; rest != 0; rest &= rest - 1) take(by_thread_[first + std::countr_zero(rest)], views);
}

}  // namespace recuda::vgpu
