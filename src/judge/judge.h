// The judge: proves candidates right against the reference in double, measures them, and says by how much.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "judge/evaluator.h"
#include "judge/proof_plan.h"
#include "judge/verifier.h"
#include "task/task.h"

namespace recuda {

class Builder;
class Device;
struct DeviceInfo;
struct Profile;

struct JudgeOptions {
    std::string target;  // "": the device's own
    uint64_t seed = 0;   // 0: a fresh secret one; mixed into every input
    std::vector<std::string> baselines{"plain"};
    std::vector<Axes> axes;                   // not empty: exactly these workloads instead of the task's own
    unsigned schedules = 1;                   // vgpu: so many permuted schedules each; results must agree
    bool resources = false;                   // vgpu: registers and spills are wanted when screening, too
    bool count = true;                        // vgpu: counters and the estimate built from them
    double run_deadline_s = 0, budget_s = 0;  // of one run, of one candidate's verification; 0: the device's own, none
    /// Makes the virtual GPUs that screen candidates before the device does, one a thread (judge/filter.h); none: the
    /// device alone.
    std::function<std::unique_ptr<Device>()> filter_device{};
    /// What is known of this machine's proofs (judge/fitness.h); empty: in the cache folder.
    std::filesystem::path fitness_file{};
    ProofPlan proof{};
};

/// The judge of one task on one device, which it owns. Builder must outlive it.
std::unique_ptr<Evaluator> make_judge(Task task, std::unique_ptr<Device> device, Builder& builder,
                                      const JudgeOptions& options = {});

/// One launch of a candidate's first workload as it was built.
struct BuiltLaunch {
    std::string kernel;
    Dim3 grid, block;
    uint32_t dynamic_shared_bytes = 0;
    Resources resources;
};

/// `check`: one candidate, whole, with what a person wants to see beside the evaluation.
struct Checked {
    Evaluation evaluation;
    std::vector<BuiltLaunch> launches;  // none where it was not built
    Schedules schedules;
    std::shared_ptr<const struct Counters> counters;  // vgpu; summed over the workloads' normal inputs
};

/// What was counted of a candidate, for a GPU.
Profile profile_of(const std::vector<BuiltLaunch>& launches, std::shared_ptr<const struct Counters> counters,
                   const DeviceInfo& gpu);

std::vector<Checked> check(const Task& task, std::unique_ptr<Device> device, Builder& builder,
                           std::span<const Candidate> candidates, const JudgeOptions& options = {});

}  // namespace recuda
