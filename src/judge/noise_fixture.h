// A GPU's timing noise as a model, for tests of statistics: what is known of it, and a guess at what is not.
//
// Each sample has 0.8 % of its own; the card drifts by 1 % with a memory of 300 samples, runs 5 % slower in one of two
// states of its clock, which it changes once in 2000 samples, and one sample in fifty takes 10 to 30 % longer. In each
// session every kernel has a factor of its own, 0.5 %, by where it came to lie.
#pragma once

#include <cmath>
#include <map>

#include "base/rng.h"

namespace recuda {

struct Noise {
    double sample = 0.008, drift = 0.01, drift_samples = 300;
    double slow_clock = 0.05, clock_changes = 1.0 / 2000;
    double outliers = 0.02, outlier_low = 0.10, outlier_high = 0.30;
    double placement = 0.005;
};

class NoisySession {
 public:
    explicit NoisySession(Rng& rng, const Noise& noise = {})
        : rng_(rng), noise_(noise), drift_(noise.drift * rng.normal()), slow_(rng.uniform() < 0.5) {}

    /// One time of a kernel that takes `true_ns`.
    double sample(size_t kernel, double true_ns) {
        const double kept = std::exp(-1 / noise_.drift_samples);
        drift_ = kept * drift_ + std::sqrt(1 - kept * kept) * noise_.drift * rng_.normal();
        if (rng_.uniform() < noise_.clock_changes) slow_ = !slow_;
        double log = drift_ + noise_.sample * rng_.normal() + placement(kernel) + (slow_ ? noise_.slow_clock : 0);
        if (rng_.uniform() < noise_.outliers)
            log += noise_.outlier_low + (noise_.outlier_high - noise_.outlier_low) * rng_.uniform();
        return true_ns * std::exp(log);
    }

 private:
    double placement(size_t kernel) {
        const auto [found, fresh] = placements_.try_emplace(kernel, 0);
        if (fresh) found->second = noise_.placement * rng_.normal();
        return found->second;
    }

    Rng& rng_;
    Noise noise_;
    double drift_;
    bool slow_;
    std::map<size_t, double> placements_;
};

}  // namespace recuda
