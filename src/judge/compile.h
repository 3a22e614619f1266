// From a candidate and workloads to what must be built: workloads with the same constants share one build.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "build/builder.h"
#include "kernel/launch_plan.h"
#include "kernel/macros.h"
#include "task/task.h"

namespace recuda {

struct CompileOptions {
    std::string target;  // "sm_90"
    OutputTypes outputs = OutputTypes::stored;
    ExtraBuffers extra;     // see kernel/launch_plan.h
    bool candidate = true;  // false: a reference of ours
    bool cubin = true;      // false: the virtual GPU needs PTX alone
};

/// The plans of one candidate and the builds that they launch.
struct Compilation {
    struct Use {
        Axes axes;
        LaunchPlan plan;     // not yet fitted to what was built
        size_t request = 0;  // index among `requests`
    };
    std::vector<BuildRequest> requests;
    std::vector<Use> uses;  // one a workload, in their order
};

/// Plans every workload. Throws LaunchRefused where one cannot be launched or `require` forbids it.
Compilation compile(const Candidate& candidate, const Task& task, std::span<const Axes> workloads,
                    const DeviceLimits& limits, const CompileOptions& options);

}  // namespace recuda
