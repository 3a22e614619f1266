#include "judge/preparation.h"

#include <algorithm>

namespace recuda {

Preparation::Preparation(std::span<const Candidate> candidates, Parts parts)
    : candidates_(candidates), parts_(std::move(parts)) {
    feed();
    const size_t threads = std::min<size_t>(parts_.threads, candidates.size());
    for (unsigned i = 0; i < threads; ++i)
        threads_.emplace_back([this, i](const std::stop_token& stop) { work(i, stop); });
}

Preparation::~Preparation() {
    for (std::jthread& thread : threads_) thread.request_stop();
}

/// Keeps twice as many candidates in the queue as threads, so that none waits for the slowest.
void Preparation::feed() {
    const std::lock_guard lock(mutex_);
    while (slots_.size() < 2 * size_t{parts_.threads} && first_ + slots_.size() < candidates_.size())
        slots_.push_back({.order = parts_.order(candidates_[first_ + slots_.size()])});
    changed_.notify_all();
}

std::optional<Prepared> Preparation::next(const std::stop_token& stop) {
    std::optional<Prepared> prepared;
    {
        std::unique_lock lock(mutex_);
        if (!changed_.wait(lock, stop, [&] { return slots_.front().done; })) return std::nullopt;
        if (slots_.front().failure) std::rethrow_exception(slots_.front().failure);
        prepared = std::move(slots_.front().prepared);
        slots_.pop_front();
        ++first_;
    }
    feed();
    return prepared;
}

void Preparation::work(unsigned thread, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [&] { return begun_ < first_ + slots_.size(); })) {
        if (stop.stop_requested()) return;
        const size_t candidate = begun_++;
        // Before it is done nobody takes it away, and a deque's elements stay where they are as its ends change.
        Slot& slot = slots_[candidate - first_];
        Order order = std::move(*slot.order);
        lock.unlock();
        std::optional<Prepared> prepared;
        std::exception_ptr failure;
        try {
            prepared = parts_.prepare(candidates_[candidate], std::move(order), thread, stop);
        } catch (...) {
            failure = std::current_exception();
        }
        lock.lock();
        slot.prepared = std::move(prepared);
        slot.failure = failure;
        slot.done = true;
        changed_.notify_all();
    }
}

}  // namespace recuda
