// A stop token that is requested when a time is up, or when somebody else asks for it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace recuda {

class Deadline {
 public:
    /// `seconds` from now; 0: never.
    Deadline(double seconds, const std::stop_token& outer) : forward_(outer, [this] { source_.request_stop(); }) {
        if (seconds > 0) timer_ = std::jthread([this, seconds](const std::stop_token& own) { wait(seconds, own); });
    }
    Deadline(const Deadline&) = delete;

    std::stop_token token() const { return source_.get_token(); }
    /// Whether the time was up before anything else stopped it.
    bool passed() const { return passed_; }

 private:
    void wait(double seconds, const std::stop_token& own) {
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any().wait_for(lock, own, std::chrono::duration<double>(seconds), [] { return false; });
        if (own.stop_requested()) return;
        passed_ = true;
        source_.request_stop();
    }

    std::stop_source source_;
    std::atomic<bool> passed_{false};
    std::stop_callback<std::function<void()>> forward_;
    std::jthread timer_;  // last: it ends before what it uses
};

}  // namespace recuda
