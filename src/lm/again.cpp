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
            try {
                LmResponse response = inner_->complete(request, stop);
                down_ = false;
                response.calls += calls - 1;
                response.usage += lost;
                return response;
            } catch (LmError& error) {
                lost += error.usage;
                error.usage = lost;
                error.calls += calls - 1;
                if (!error.is_passing()) throw;
                const double seconds = wait_before_next(error, calls);
                if (calls >= attempts_for(error) || seconds > patience_.longest_asked_s) {
                    down_ = true;
                    throw;
                }
                if (!patience_.wait(seconds, stop)) {
                    LmError ended(LmFault::stopped, "the wait after {} was ended", error.what());
                    ended.usage = lost;
                    ended.calls = error.calls;
                    throw ended;
                }
            }
        }
    }

 private:
    uint64_t attempts_for(const LmError& error) const {
        if (down_) return 1;
        const bool is_slow = error.fault == LmFault::timed_out || error.fault == LmFault::unreadable;
        return is_slow ? patience_.slow_attempts : patience_.attempts;
    }

    double wait_before_next(const LmError& error, uint64_t calls) {
        const std::lock_guard lock(mutex_);
        const double bound =
            std::min(patience_.longest_s, patience_.first_s * std::exp2(static_cast<double>(calls - 1)));
        // What was asked for is the least; a little more keeps many callers from coming back at once.
        if (error.retry_after_s) return *error.retry_after_s + rng_.uniform() * patience_.first_s / 2;
        return rng_.uniform() * bound;
    }

    std::unique_ptr<LanguageModel> inner_;
    Patience patience_;
    std::atomic<bool> down_ = false;
    std::mutex mutex_;
    Rng rng_;
};

}  // namespace

std::unique_ptr<LanguageModel> make_patient(std::unique_ptr<LanguageModel> inner, Patience patience) {
    return std::make_unique<Patient>(std::move(inner), std::move(patience));
}

}  // namespace recuda
