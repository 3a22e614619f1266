#include "lm/again.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <random>

#include "base/rng.h"

namespace recuda {
namespace {

bool wait_really(double seconds, const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, stop, std::chrono::duration<double>(seconds), [] { return false; });
    return !stop.stop_requested();
}

class Patient final : public LanguageModel {
 public:
    Patient(std::unique_ptr<LanguageModel> inner, Patience patience)
        : inner_(std::move(inner)), patience_(std::move(patience)), rng_(std::random_device()()) {
        if (!patience_.wait) patience_.wait = wait_really;
    }

    LmResponse complete(const LmRequest& request, const std::stop_token& stop) override {
        Usage lost;  // on attempts in vain
        for (uint64_t calls = 1;; ++calls) {
            wait_for_the_others(stop);
            try {
                LmResponse response = inner_->complete(request, stop);
                down_ = false;
                response.calls += calls - 1;
                response.usage += lost;
                return response;
            } catch (LmError& error) {
                lost += error.usage;
                error.usage = lost;
                error.calls = calls;
                if (!error.is_passing()) throw;
                const bool is_too_long = error.retry_after_s.value_or(0) > patience_.longest_asked_s;
                const double seconds = back_off(error, calls);
                if (calls >= attempts_for(error) || is_too_long) {
                    down_ = true;
                    throw;
                }
                pause(seconds, stop, error);
            }
        }
    }

 private:
    using Clock = std::chrono::steady_clock;

    void pause(double seconds, const std::stop_token& stop, const LmError& after) const {
        if (patience_.wait(seconds, stop)) return;
        LmError ended(LmFault::stopped, "the wait after {} was ended", after.what());
        ended.usage = after.usage;
        ended.calls = after.calls;
        throw LmError(ended);
    }

    /// Waits out what another request was asked to wait.
    void wait_for_the_others(const std::stop_token& stop) {
        std::optional<LmError> asked;
        double seconds = 0;
        {
            const std::lock_guard lock(mutex_);
            seconds = std::chrono::duration<double>(free_again_ - Clock::now()).count();
            asked = asked_to_wait_;
        }
        if (!asked || seconds <= 0) return;
        if (seconds > patience_.longest_asked_s) throw LmError(*asked);
        pause(seconds, stop, *asked);
    }

    uint64_t attempts_for(const LmError& error) const {
        if (down_) return 1;
        const bool is_slow = error.fault == LmFault::timed_out || error.fault == LmFault::unreadable;
        return is_slow                               ? patience_.slow_attempts
               : error.fault == LmFault::unreachable ? patience_.lone_attempts
                                                     : patience_.attempts;
    }

    /// The wait before the next attempt; one that the other side asked for is kept for all and comes on top.
    double back_off(const LmError& error, uint64_t calls) {
        const std::lock_guard lock(mutex_);
        if (!error.retry_after_s)
            return rng_.uniform() *
                   std::min(patience_.longest_s, patience_.first_s * std::exp2(static_cast<double>(calls) - 1));
        constexpr double kLongestS = 1e6;
        const std::chrono::duration<double> asked(std::min(*error.retry_after_s, kLongestS));
        free_again_ = std::max(free_again_, Clock::now() + std::chrono::duration_cast<Clock::duration>(asked));
        asked_to_wait_ = error;
        asked_to_wait_->usage = {};
        asked_to_wait_->calls = 0;
        asked_to_wait_->retry_after_s.reset();
        return rng_.uniform() * patience_.first_s / 2;  // keeps many callers from coming back at once
    }

    std::unique_ptr<LanguageModel> inner_;
    Patience patience_;
    std::atomic<bool> down_ = false;
    std::mutex mutex_;
    Rng rng_;
    Clock::time_point free_again_{};
    std::optional<LmError> asked_to_wait_;
};

}  // namespace

std::unique_ptr<LanguageModel> make_patient(std::unique_ptr<LanguageModel> inner, Patience patience) {
    return std::make_unique<Patient>(std::move(inner), std::move(patience));
}

}  // namespace recuda
