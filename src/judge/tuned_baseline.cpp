#include "judge/tuned_baseline.h"

#include <map>
#include <optional>

#include "device/device.h"
#include "judge/statistics.h"

namespace recuda {
namespace {

constexpr uint32_t kTrySamples = 5;

class TunedBaseline : public Baseline {
 public:
    explicit TunedBaseline(TunedParts parts) : parts_(std::move(parts)) {}

    const std::string& name() const override { return parts_.name; }
    std::string about() const override { return parts_.about; }
    void forget() override { parts_.forget(); }
    void unload() override { parts_.forget(); }

    Timed time(const Axes& axes, uint32_t samples) override {
        Tuned& tuned = tuned_[axes];
        if (Timed failed = tune(axes, tuned); failed.outcome != Outcome::correct) return failed;
        const Way& way = tuned.ways[*tuned.best];
        Timed timed = way.time(samples);
        timed.method += fmt::format("; {}, the fastest of {} tried", way.words, tuned.ways.size());
        return timed;
    }

 private:
    struct Tuned {
        std::vector<Way> ways;
        size_t next = 0;  // those before it have been timed
        std::optional<size_t> best;
        double best_ns = 0;
        Timed failure;  // the last
    };

    /// Finds the fastest way, where that has not been done. A failure that ends the device's process is given back at
    /// once; the next call goes on behind the way that failed.
    Timed tune(const Axes& axes, Tuned& tuned) {
        try {
            if (tuned.ways.empty()) tuned.ways = parts_.ways(axes);
        } catch (const DeviceLost&) {
            throw;
        } catch (const Error& error) {
            return {.outcome = Outcome::launch_refused, .log = error.what()};
        }
        while (tuned.next < tuned.ways.size()) {
            const size_t at = tuned.next++;
            Timed timed = tuned.ways[at].time(kTrySamples);
            if (timed.outcome != Outcome::correct) {
                timed.log = tuned.ways[at].words + ": " + timed.log;
                tuned.failure = std::move(timed);
                if (tuned.failure.outcome == Outcome::faulted || tuned.failure.outcome == Outcome::timed_out)
                    return tuned.failure;
                continue;
            }
            const double ns = median_of(timed.samples_ns).value;
            if (tuned.best && tuned.best_ns <= ns) continue;
            tuned.best = at;
            tuned.best_ns = ns;
        }
        if (tuned.best) return {};
        if (tuned.ways.empty()) return {.outcome = Outcome::launch_refused, .log = "there is no way to run it"};
        return tuned.failure;
    }

    TunedParts parts_;
    std::map<Axes, Tuned> tuned_;
};

}  // namespace

std::unique_ptr<Baseline> make_tuned_baseline(TunedParts parts) {
    return std::make_unique<TunedBaseline>(std::move(parts));
}

}  // namespace recuda
