// Takes the samples of a proof: sessions, each with a fresh process, fresh memory and fresh inputs, in which the
// candidate and its baselines are timed in turns.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/rng.h"
#include "evaluation/proof.h"
#include "judge/canaries.h"
#include "judge/proof_plan.h"
#include "judge/timed.h"
#include "task/task.h"

namespace recuda {

/// Who is timed: so many samples of one run at a workload. Throws DeviceLost where the device's process is gone.
struct Contestant {
    std::string name;
    std::function<Timed(const Axes& axes, uint32_t samples)> time;
    std::function<void()> unload{};  // its code from the device, to be loaded anew; may be empty
};

struct ProofParts {
    Contestant candidate;
    std::vector<Contestant> baselines;
    std::vector<Axes> workloads;
    std::function<void(uint64_t seed)> renew;  // begins a session with inputs of this seed
    /// One round of what shows whether the card stays as it is; may be empty. A session in which it does not is void
    /// and taken again.
    std::function<CanaryTimes()> canary;
    ProofPlan plan;
};

struct SessionsTaken {
    Outcome outcome = Outcome::correct;  // of the candidate: what it came to in a session, with `log`
    std::string log;
    bool stopped = false;       // before all were taken: there is no proof
    std::vector<Proof> proofs;  // one a baseline, in their order; rule and promotion are not filled in
    /// Why there is no proof of this baseline, which did something wrong itself; "" where there is.
    std::vector<std::string> problems;
};

/// `done` hears how many sessions of how many are taken. A session whose process was lost is taken again, once.
SessionsTaken take_sessions(const ProofParts& parts, Rng rng, const std::stop_token& stop,
                            const std::function<void(size_t taken, size_t total)>& done = {});

}  // namespace recuda
