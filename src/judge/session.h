// A judge's session: one task on one device, with everything that is made once for all candidates.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "judge/baselines.h"
#include "judge/benchmark.h"
#include "judge/build.h"
#include "judge/cases.h"
#include "judge/fitness.h"
#include "judge/judge.h"
#include "judge/peaks.h"
#include "judge/prover.h"
#include "judge/verifier.h"

namespace recuda {

/// What became of one candidate.
struct Judged {
    Evaluation evaluation;
    std::vector<BuiltLaunch> launches;
    Schedules schedules;
    std::shared_ptr<const Counters> counters;  // vgpu: of the normal inputs of all workloads together
    bool stopped = false;                      // before it was done: the evaluation means nothing
    bool complete = true;                      // false: options' budget_s was over before every input was tried
};

class Session {
 public:
    Session(Task task, std::unique_ptr<Device> device, Builder& builder, JudgeOptions options);
    ~Session();

    /// Builds the reference and the trusted implementation for every workload, where that has not been done.
    void open();

    /// What to build of a candidate for a judgement of this depth.
    Order order(const Candidate& candidate, Depth depth) const;

    /// Verifies and measures what was built of the candidate by `order`.
    Judged judge(const Candidate& candidate, Built built, Depth depth, bool stop_at_failure,
                 const std::stop_token& stop);

    /// The evaluation of a candidate that a filter turned down: the device never sees it.
    Evaluation turned_down(const Candidate& candidate, const Built& built, Filtered filtered, Depth depth) const;

    /// Candidates ordered by time, best first, as indices: a race, then a final (judge/race.h). `built` belongs to
    /// `order(…, Depth::screen)`; `first_ns` is a time of each. Those that are out or that failed are missing.
    std::vector<size_t> rank(std::vector<Built> built, std::span<const double> first_ns, const std::stop_token& stop);

    /// Proves a candidate that was judged whole against each baseline: `whole` with the comparisons, their raw samples,
    /// and the candidate's times in them. `built` belongs to `order(…, Depth::whole)`. None where it was stopped before
    /// it was done or there is no baseline. Where the candidate fails on the way its outcome says so.
    /// `rival` is the build of promotion.rival.
    std::optional<Evaluation> prove(Evaluation whole, Built built, const Promotion& promotion,
                                    std::optional<Built> rival = {});

    /// The plain seed of the op (or its reference) against a copy of itself through the sessions of a proof: what a
    /// machine that is fit to prove calls neither FASTER nor SLOWER. None where it was stopped.
    std::optional<Proof> self_test(const std::stop_token& stop);

    const DeviceInfo& info() const { return device_->info(); }
    /// Measured when the session began.
    const Peaks& peaks() const { return peaks_; }
    /// Complete once the session is open.
    const Baselines& baselines() const { return baselines_; }
    const std::string& target() const { return options_.target; }
    const Task& task() const { return task_; }
    std::string device_text() const;
    const DeviceLimits& limits() const { return limits_; }
    Builder& builder() { return builder_; }

 private:
    std::vector<Workload> workloads(Depth depth) const;
    const std::vector<Axes>& measured_axes() const;
    std::vector<Axes> built_axes(Depth depth) const;
    void judge_built(Judged& judged, Built built, Depth depth, bool stop_at_failure, const std::stop_token& stop);
    void verify_into(Judged& judged, LoadedProgram& program, Depth depth, const VerifyOptions& options);
    void estimate_into(Evaluation& evaluation, const LoadedProgram& program, const Verified& verified) const;
    Measured measure_alone(Evaluation& evaluation, LoadedProgram& program, const Axes& axes, Depth depth);
    void measure_into(Evaluation& evaluation, LoadedProgram& program, Depth depth);
    void forget(LoadedProgram& program);
    void forget_all();
    void renew(uint64_t seed);
    SessionsTaken sessions(ProofParts parts, std::span<LoadedProgram* const> programs, std::string_view what,
                           const Promotion& promotion);
    Fitness fitness() const;
    Timed bounded(Timed timed, const Axes& axes) const;
    Contestant contestant(std::string name, LoadedProgram& program);
    bool choose_baselines(LoadedProgram& program, const std::stop_token& stop);
    bool tested_where_due(const Fitness& fitness, const std::stop_token& stop);
    void proofs_into(Evaluation& evaluation, SessionsTaken taken, size_t promotion) const;
    std::vector<double> visit(LoadedProgram& program, uint32_t samples);
    void times_into(Evaluation& evaluation) const;

    Task task_;
    std::unique_ptr<Device> device_;
    Builder& builder_;
    JudgeOptions options_;
    DeviceLimits limits_;
    Reference reference_;
    Cases cases_;
    Peaks peaks_;
    Benchmark benchmark_;
    Baselines baselines_;
    bool open_ = false;
};

}  // namespace recuda
