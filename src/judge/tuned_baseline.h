// A baseline that can work in several ways, of which the fastest is taken: points of tunables, a library's algorithms.
//
// At a workload's first timing every way is timed with a few samples, and the fastest whose outputs are right stays for
// the session. Each workload has its own, which is more than a candidate has: one point for all.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "judge/baseline.h"

namespace recuda {

struct Way {
    std::string words;  // "WARPS=4"
    std::function<Timed(uint32_t samples)> time;
};

struct TunedParts {
    std::string name, about;
    std::function<std::vector<Way>(const Axes&)> ways;  // throws Error where there can be none
    std::function<void()> forget;                       // the device's process is gone
};

std::unique_ptr<Baseline> make_tuned_baseline(TunedParts parts);

}  // namespace recuda
