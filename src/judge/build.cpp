#include "judge/build.h"

#include "build/ptx_facts.h"

namespace recuda {
namespace {

/// Takes the results of one compilation's requests into one.
void take(Built& built, BuildResult result) {
    built.seconds += result.seconds;
    if (result.outcome != Outcome::correct) {
        if (built.outcome == Outcome::correct) built.log = result.log;
        built.outcome = worse(built.outcome, result.outcome);
    }
    for (const Binary& binary : result.binaries) {
        for (const Entry& entry : binary.entries)
            if (entry.resources.registers >= built.resources.registers) built.resources = entry.resources;
        built.facts.add(ptx_facts(binary.ptx, binary.file));
    }
    built.binaries.push_back(std::move(result.binaries));
}

}  // namespace

Order order_of(const Candidate& candidate, const Task& task, std::span<const Axes> workloads,
               const DeviceLimits& limits, const CompileOptions& options) {
    try {
        return {compile(candidate, task, workloads, limits, options), ""};
    } catch (const LaunchRefused& refused) {
        return {{}, refused.what()};
    }
}

std::vector<Built> build_all(Builder& builder, std::vector<Order> orders) {
    std::vector<BuildRequest> requests;
    for (const Order& order : orders)
        requests.insert(requests.end(), order.compilation.requests.begin(), order.compilation.requests.end());
    std::vector<BuildResult> results = requests.empty() ? std::vector<BuildResult>{} : builder.build(requests);
    std::vector<Built> all;
    size_t next = 0;
    for (Order& order : orders) {
        Built built;
        if (!order.refusal.empty()) built.outcome = Outcome::launch_refused, built.log = order.refusal;
        for (size_t i = 0; i < order.compilation.requests.size(); ++i) take(built, std::move(results[next++]));
        built.compilation = std::move(order.compilation);
        all.push_back(std::move(built));
    }
    return all;
}

}  // namespace recuda
