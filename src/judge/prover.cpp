#include "judge/prover.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "device/device.h"
#include "judge/proof_statistics.h"

namespace recuda {
namespace {

/// Void sessions that a proof puts up with: more, and the card is not fit to prove anything today.
constexpr size_t kMostVoid = 6;

/// To a picosecond, far below what a clock of events resolves, so that JSON holds exactly what is judged.
double kept_ns(double ns) { return std::round(ns * 1000) / 1000; }

class Prover {
 public:
    Prover(const ProofParts& parts, Rng rng, const std::stop_token& stop) : parts_(parts), rng_(rng), stop_(stop) {
        for (const Contestant& baseline : parts.baselines) {
            Proof& proof = taken_.proofs.emplace_back();
            proof.baseline = baseline.name;
            proof.block_samples = parts.plan.block_pairs;
            for (const Axes& axes : parts.workloads) proof.workloads.push_back({.axes = axes});
        }
        taken_.problems.resize(parts.baselines.size());
    }

    SessionsTaken take(const std::function<void(size_t, size_t)>& done) {
        size_t voided = 0;
        for (size_t i = 0; i < parts_.plan.sessions;) {
            if (done) done(i, parts_.plan.sessions);
            std::string changed;
            try {
                changed = session(i);
            } catch (const DeviceLost&) {
                changed = session(i);
            }
            if (!goes_on()) return std::move(taken_);
            if (changed.empty())
                ++i;
            else if (++voided > kMostVoid)
                return unsteady(changed);
        }
        for (Proof& proof : taken_.proofs) proof.voided = voided;
        if (done) done(parts_.plan.sessions, parts_.plan.sessions);
        return std::move(taken_);
    }

 private:
    /// What one session gave of a baseline at a workload.
    struct Pairs {
        size_t baseline, workload;
        ProofSession times;
        std::string method, baseline_method;
    };

    bool goes_on() const { return !taken_.stopped && taken_.outcome == Outcome::correct; }

    SessionsTaken unsteady(const std::string& changed) {
        for (std::string& problem : taken_.problems)
            if (problem.empty())
                problem = fmt::format("the card changed in {} sessions, last: {}", kMostVoid + 1, changed);
        return std::move(taken_);
    }

    void canary() {
        if (parts_.canary && goes_on()) rounds_.push_back(parts_.canary());
    }

    /// Returns why it is void, "" where it is not.
    std::string session(size_t number) {
        rounds_.clear();
        const uint64_t seed = rng_.next();
        parts_.renew(seed);
        std::vector<size_t> order(parts_.workloads.size());
        std::iota(order.begin(), order.end(), size_t{0});
        for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng_.below(i)]);
        std::vector<Pairs> all;
        canary();
        for (const size_t workload : order)
            for (size_t baseline = 0; goes_on() && baseline < parts_.baselines.size(); ++baseline) {
                if (!taken_.problems[baseline].empty()) continue;
                Pairs pairs{.baseline = baseline, .workload = workload};
                pairs.times.seed = seed;
                pairs.times.baseline_began = number % 2 == 1;
                if (take_pairs(pairs)) all.push_back(std::move(pairs));
                canary();
            }
        if (!goes_on()) return "";
        if (std::string changed = canary_deviation(rounds_); !changed.empty()) return changed;
        for (Pairs& pairs : all) {
            WorkloadProof& workload = taken_.proofs[pairs.baseline].workloads[pairs.workload];
            workload.method = pairs.method;
            workload.baseline_method = pairs.baseline_method;
            workload.sessions.push_back(std::move(pairs.times));
        }
        return "";
    }

    /// Who begins is loaded first: of two copies of one kernel the one that was loaded first took 1 to 3 % longer on an
    /// H200, so both sides must be first equally often.
    bool take_pairs(Pairs& pairs) {
        Pairs warmup = pairs;
        const ProofPlan& plan = parts_.plan;
        const bool first = pairs.times.baseline_began;
        for (const Contestant* who : {&parts_.candidate, &parts_.baselines[pairs.baseline]})
            if (who->unload) who->unload();
        if (!visit(warmup, first, plan.warmup_pairs) || !visit(warmup, !first, plan.warmup_pairs)) return false;
        for (size_t i = 0; i < 2 * plan.blocks; ++i)
            if (!visit(pairs, (abba_arm(i) == 1) != pairs.times.baseline_began, plan.block_pairs)) return false;
        pairs.times.log_ratio = session_statistic(pairs.times.candidate_ns, pairs.times.baseline_ns);
        return true;
    }

    /// Adds samples of one side; false where there are none, which is then recorded.
    bool visit(Pairs& pairs, bool of_baseline, uint32_t samples) {
        if (stop_.stop_requested()) {
            taken_.stopped = true;
            return false;
        }
        const Contestant& who = of_baseline ? parts_.baselines[pairs.baseline] : parts_.candidate;
        Timed timed = who.time(parts_.workloads[pairs.workload], samples);
        const bool good = timed.outcome == Outcome::correct && timed.samples_ns.size() == samples;
        if (!good && of_baseline) {
            taken_.problems[pairs.baseline] =
                fmt::format("the baseline is {}: {}", recuda::name(timed.outcome), timed.log);
        } else if (!good) {
            taken_.outcome = timed.outcome == Outcome::correct ? Outcome::faulted : timed.outcome;
            taken_.log = timed.log;
        }
        if (!good) return false;
        ProofSession& times = pairs.times;
        for (const double ns : timed.samples_ns)
            (of_baseline ? times.baseline_ns : times.candidate_ns).push_back(kept_ns(ns));
        for (const double mhz : timed.clock_mhz)
            (of_baseline ? times.baseline_clock_mhz : times.candidate_clock_mhz).push_back(std::round(mhz));
        (of_baseline ? pairs.baseline_method : pairs.method) = std::move(timed.method);
        return true;
    }

    const ProofParts& parts_;
    Rng rng_;
    std::stop_token stop_;
    SessionsTaken taken_;
    std::vector<CanaryTimes> rounds_;  // of the session
};

}  // namespace

SessionsTaken take_sessions(const ProofParts& parts, Rng rng, const std::stop_token& stop,
                            const std::function<void(size_t, size_t)>& done) {
    return Prover(parts, rng, stop).take(done);
}

}  // namespace recuda
