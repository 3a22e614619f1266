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
#include "judge/judge.h"
#include "judge/peaks.h"
#include "judge/verifier.h"

namespace recuda {

/// What became of one candidate.
struct Judged {
    Evaluation evaluation;
    std::vector<BuiltLaunch> launches;
    Schedules schedules;
    std::shared_ptr<const Counters> counters;  // vgpu: of the normal inputs of all workloads together
    bool stopped = false;                      // before it was done: the evaluation means nothing
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

    const DeviceInfo& info() const { return device_->info(); }
    /// Measured when the session began.
    const Peaks& peaks() const { return peaks_; }
    /// Complete once the session is open.
    const Baselines& baselines() const { return baselines_; }
    const std::string& target() const { return options_.target; }
    const DeviceLimits& limits() const { return limits_; }
    Builder& builder() { return builder_; }

 private:
    std::vector<Workload> workloads(Depth depth) const;
    const std::vector<Axes>& measured_axes() const;
    std::vector<Axes> built_axes(Depth depth) const;
    void verify_into(Judged& judged, Program& program, Depth depth, const VerifyOptions& options);
    void estimate_into(Evaluation& evaluation, const Program& program, const Verified& verified) const;
    Measured measure_alone(Evaluation& evaluation, Program& program, const Axes& axes, Depth depth);
    void measure_into(Evaluation& evaluation, Program& program, Depth depth);
    void compare_into(Evaluation& evaluation, Program& program);
    bool compare_into(Evaluation& evaluation, Program& program, Baseline& baseline);
    void forget(Program& program);

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
