#include "calibration/fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "device/gpus.h"
#include "judge/statistics.h"

namespace recuda::calibration {
namespace {

struct Row {
    const char* name;
    double EstimateConstants::*value;
};

constexpr Row kRows[] = {
    {"launch_ns", &EstimateConstants::launch_ns},
    {"next_launch_ns", &EstimateConstants::next_launch_ns},
    {"arithmetic", &EstimateConstants::arithmetic},
    {"special", &EstimateConstants::special},
    {"warp", &EstimateConstants::warp},
    {"shared", &EstimateConstants::shared},
    {"global", &EstimateConstants::global},
    {"barrier", &EstimateConstants::barrier},
    {"tensor", &EstimateConstants::tensor},
    {"branch", &EstimateConstants::branch},
    {"block", &EstimateConstants::block},
    {"own_issue", &EstimateConstants::own_issue},
    {"issue", &EstimateConstants::issue},
    {"request", &EstimateConstants::request},
    {"sector", &EstimateConstants::sector},
    {"local_sector", &EstimateConstants::local_sector},
    {"passes", &EstimateConstants::passes},
    {"tensor_issue", &EstimateConstants::tensor_issue},
    {"memory_share", &EstimateConstants::memory_share},
    {"l2_bytes", &EstimateConstants::l2_bytes},
    {"atomic_ns", &EstimateConstants::atomic_ns},
    {"repeat_ns", &EstimateConstants::repeat_ns},
    {"start_ns", &EstimateConstants::start_ns},
    {"norm", &EstimateConstants::norm},
};

constexpr double kWithin = 2;                      // weight of the error within a workload
constexpr double kMostAll = 1.5, kMostWithin = 1;  // errors beyond these count no more: outliers must not lead
constexpr double kPrior = 0.003;                   // of a squared logarithm away from where the fit began
constexpr double kFirstStep = 0.4, kLastStep = 0.01;
constexpr int kRounds = 36;

Dim3 triple(const Json& json) { return {json.at(0), json.at(1), json.at(2)}; }

/// What the fit makes small.
double badness(std::span<const Variant> variants, const EstimateConstants& constants, const EstimateConstants& start) {
    std::map<std::string, std::vector<double>> errors;
    double all = 0;
    for (const Variant& variant : variants) {
        const double error = std::log(estimate_of(variant, constants) / variant.median_ns);
        errors[variant.workload].push_back(error);
        all += std::min(kMostAll, std::fabs(error));
    }
    double within = 0;
    for (const auto& [workload, each] : errors) {
        const double middle = median_of(each).value;
        double sum = 0;
        for (const double error : each) sum += std::min(kMostWithin, std::fabs(error - middle));
        within += sum / static_cast<double>(each.size());
    }
    double prior = 0;
    for (const Row& row : kRows) {
        const double moved = std::log(constants.*row.value / (start.*row.value));
        prior += kPrior * moved * moved;
    }
    return all / static_cast<double>(variants.size()) + kWithin * within / static_cast<double>(errors.size()) + prior;
}

}  // namespace

Variant variant_from_json(const Json& json) {
    Variant variant{
        json.at("id"), json.at("op"), json.at("workload"), counters_from_json(json.at("counters")), {}, 0, 0, 1};
    variant.scale = json.value("scale", 1.0);
    variant.least_bytes = json.at("least_bytes");
    variant.median_ns = json.at("median_ns");
    for (size_t i = 0; i < json.value("cleared", size_t{0}); ++i) variant.plan.scratch.push_back({.zeroed = true});
    for (const Json& launch : json.at("launches")) {
        PlannedLaunch& planned = variant.plan.launches.emplace_back();
        planned.grid = triple(launch.at("grid"));
        planned.block = triple(launch.at("block"));
        planned.shared_bytes = launch.at("shared_bytes");
    }
    return variant;
}

double estimate_of(const Variant& variant, const EstimateConstants& constants) {
    static const DeviceInfo kGpu = gpu_of_target("sm_90");
    return estimate({variant.counters, variant.plan, kGpu, variant.scale, variant.least_bytes}, constants);
}

EstimateConstants documented() {
    EstimateConstants constants;
    constants.launch_ns = constants.next_launch_ns = 800;  // an empty kernel of the corpus, behind another
    // Dependent latencies: Luo et al., arXiv 2402.13499; branch, block and own issue are guesses.
    constants.arithmetic = 4, constants.special = 20, constants.warp = 23, constants.shared = 29;
    constants.global = 600, constants.barrier = 30, constants.tensor = 33, constants.branch = 10;
    constants.block = 100, constants.own_issue = 1, constants.issue = 1;
    // One request a cycle, 128 bytes a cycle, one pass over the banks a cycle.
    constants.request = 1, constants.sector = constants.local_sector = 0.25, constants.passes = 1;
    constants.tensor_issue = 16;
    constants.memory_share = 0.82;  // of 4800 bytes a nanosecond: what a copy reached when the corpus was timed
    constants.l2_bytes = 50;        // a nanosecond and SM: 64 bytes a cycle at most are less than 127
    constants.atomic_ns = 0.2, constants.repeat_ns = 1, constants.start_ns = 0.6, constants.norm = 2;
    return constants;
}

EstimateConstants fitted(std::span<const Variant> variants) {
    const EstimateConstants start = documented();
    EstimateConstants best = start;
    double least = badness(variants, best, start);
    std::map<const char*, double> steps;
    for (const Row& row : kRows) steps[row.name] = kFirstStep;
    for (int round = 0; round < kRounds; ++round) {
        for (const Row& row : kRows) {
            double& step = steps[row.name];
            const double before = step;
            for (const double direction : {1.0, -1.0}) {
                EstimateConstants next = best;
                next.*row.value *= std::exp(direction * step);
                const double value = badness(variants, next, start);
                if (value >= least) continue;
                best = next, least = value;
                step *= 1.3;
                break;
            }
            if (step == before) step /= 2;
        }
        if (std::all_of(steps.begin(), steps.end(), [](const auto& step) { return step.second < kLastStep; })) break;
    }
    return best;
}

Json to_json(const EstimateConstants& constants) {
    Json json;
    for (const Row& row : kRows) json[row.name] = constants.*row.value;
    return json;
}

}  // namespace recuda::calibration
