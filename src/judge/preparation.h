// What is done for candidates ahead of the device, on the host's threads: each is built and, where there is a filter,
// screened by it, while the device judges those before it. Results come in the order of the candidates.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "evaluation/evaluation.h"
#include "judge/build.h"

namespace recuda {

struct Prepared {
    Built built;
    std::optional<Filtered> filtered;
};

class Preparation {
 public:
    struct Parts {
        std::function<Order(const Candidate&)> order;  // called by the thread that calls `next`
        /// Called by the threads, each with a number of its own below `threads`.
        std::function<Prepared(const Candidate&, Order, unsigned thread, const std::stop_token&)> prepare;
        unsigned threads = 1;
    };
    /// Begins at once. `candidates` must outlive it.
    Preparation(std::span<const Candidate> candidates, Parts parts);
    /// Drops what is not begun and waits for the rest.
    ~Preparation();
    Preparation(const Preparation&) = delete;

    /// The next candidate's, waiting for it; nothing where `stop` comes first. Throws what `prepare` threw for it.
    std::optional<Prepared> next(const std::stop_token& stop);

 private:
    struct Slot {
        std::optional<Order> order;
        std::optional<Prepared> prepared;
        std::exception_ptr failure;
        bool done = false;
    };
    void feed();
    void work(unsigned thread, const std::stop_token& stop);

    std::span<const Candidate> candidates_;
    Parts parts_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<Slot> slots_;  // of candidates first_ …, those that orders were made for
    size_t first_ = 0, begun_ = 0;
    std::vector<std::jthread> threads_;  // last: ends first
};

}  // namespace recuda
