// All that a search knows of the judge: candidates go in, evaluations come out.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "evaluation/evaluation.h"
#include "kernel/candidate.h"

namespace recuda {

/// How far to judge. `screen`: builds, verifies on the small workloads (T <= 8) with the whole battery, times with few
/// samples. `whole`: every workload of the task, more samples.
enum class Depth { screen, whole };

/// Another candidate that a proof compares with, beside the baselines.
struct Rival {
    std::string name;  // as comparisons have it: "best seed"
    Candidate candidate;
};

/// What a proof is part of.
struct Promotion {
    size_t number = 1;  // of the run's promotions to a proof, from 1: more of them make each test stricter
    std::stop_token stop;
    std::function<void(size_t sessions, size_t of)> progress;  // may be empty
    std::optional<Rival> rival{};
};

class Evaluator {
 public:
    virtual ~Evaluator() = default;

    /// Makes what judging needs once (reference, trusted implementation, peaks of the card). Throws Error where that
    /// cannot be had; `evaluate` does it by itself where it was not done.
    virtual void prepare() = 0;

    /// Judges candidates; builds run ahead on the worker pool. `done` is called from the calling thread for each as it
    /// is ready, in their order. When `stop` is requested no further candidate is begun and the one in flight is
    /// dropped.
    virtual void evaluate(std::span<const Candidate> candidates, Depth depth, const std::stop_token& stop,
                          const std::function<void(Evaluation)>& done) = 0;

    /// Orders right candidates by time, best first, as indices; those that are out or failed are missing. `first_ns` is
    /// a time of each. Where the device measures no time, or `stop` is requested at once, the order is as given.
    virtual std::vector<size_t> rank(std::span<const Candidate> candidates, std::span<const double> first_ns,
                                     const std::stop_token& stop) = 0;

    /// Proves the candidate, whose judgement as a whole is given, against each baseline: that judgement with the
    /// proof's comparisons, raw samples and times. Where the candidate fails in it, its outcome says so. None where it
    /// was stopped before it was done, where there is no baseline and where the device measures no time.
    virtual std::optional<Evaluation> prove(const Candidate& candidate, Evaluation whole,
                                            const Promotion& promotion) = 0;

    /// What `prepare` found that its user should know: baselines that are not there.
    virtual std::vector<std::string> warnings() const { return {}; }

    /// What run.json records as `environment`: device, driver, compilers, measured peaks with their samples,
    /// baselines. A JSON object or a text.
    virtual std::string device_description() const = 0;
    /// Device kind, name and target, for outputs.
    virtual std::string device_kind() const = 0;  // "vgpu", "cuda"
    virtual std::string device_name() const = 0;
    virtual std::string device_target() const = 0;
    virtual bool measures_time() const = 0;
    virtual const DeviceLimits& limits() const = 0;
};

}  // namespace recuda
