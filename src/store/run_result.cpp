#include "store/run_result.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace recuda {
namespace {

constexpr std::array<std::string_view, 6> kReasons{"candidates", "time", "budget", "converged", "interrupt", "waiting"};

Json best_json(const RunResult& result) {
    if (!result.best) return nullptr;
    const Evaluation& best = *result.best;
    Json comparisons = Json::array();
    for (const Comparison& comparison : best.comparisons) comparisons.push_back(to_json(comparison));
    const auto number = [](const std::optional<double>& value) { return value ? json_number(*value) : Json(); };
    return {{"digest", best.digest},
            {"id", best.id},
            {"file", json_text(result.best_file)},
            {"origin", name(best.origin)},
            {"parent", json_text(best.parent)},
            {"language", best.language},
            {"idea", json_text(best.idea)},
            {"stage", best.stage},
            {"tunables", best.tunables},
            {"median_ns", number(best.median_ns)},
            {"estimate", number(best.estimate)},
            {"comparisons", std::move(comparisons)}};
}

Json to_json(const StepGain& step) {
    return {{"step", step.step},
            {"asked", step.asked},
            {"candidates", step.candidates},
            {"right", step.right},
            {"best_digest", step.best_digest},
            {"best", step.best ? json_number(*step.best) : Json()},
            {"gain", json_number(step.gain)}};
}

Json to_json(const ModelAgainstSeed& pair) {
    const auto number = [](const std::optional<double>& value) { return value ? json_number(*value) : Json(); };
    return {{"model_digest", pair.model_digest}, {"seed_digest", pair.seed_digest}, {"ratio", json_number(pair.ratio)},
            {"low", number(pair.low)},           {"high", number(pair.high)},       {"evidence", pair.evidence}};
}

Json to_json(const ModelUse& use) {
    Json steps = Json::array(), problems = Json::array();
    for (const StepGain& step : use.steps) steps.push_back(to_json(step));
    for (const std::string& problem : use.problems) problems.push_back(json_text(problem));
    return {{"model", json_text(use.model)},
            {"calls", use.calls},
            {"cached", use.cached},
            {"input_tokens", use.input_tokens},
            {"output_tokens", use.output_tokens},
            {"cost_usd", json_number(use.cost_usd)},
            {"steps", std::move(steps)},
            {"against_seed", use.against_seed ? to_json(*use.against_seed) : Json()},
            {"problems", std::move(problems)},
            {"off", json_text(use.off)}};
}

int rung(const Evaluation& evaluation) {
    if (evaluation.outcome != Outcome::correct) return 3;
    if (evaluation.stage != "whole") return 2;
    return evaluation.proofs.empty() ? 1 : 0;
}

}  // namespace

std::string_view name(StoppedBy reason) { return kReasons[static_cast<size_t>(reason)]; }

std::map<std::string, int64_t> RunResult::outcomes() const {
    std::map<std::string, int64_t> counts;
    for (const Evaluation& evaluation : evaluations) ++counts[std::string(name(evaluation.outcome))];
    return counts;
}

Json to_json(const RunResult& result) {
    return {{"run", result.run},
            {"task", json_text(result.task)},
            {"device",
             {{"kind", result.device_kind}, {"name", json_text(result.device_name)}, {"target", result.device_target}}},
            {"out_dir", json_text(result.out_dir)},
            {"preset", result.preset},
            {"candidates", result.evaluations.size()},
            {"outcomes", result.outcomes()},
            {"best", best_json(result)},
            {"stopped_by", name(result.stopped_by)},
            {"exhausted", result.exhausted},
            {"model", result.model ? to_json(*result.model) : Json()},
            {"promotions", result.promotions},
            {"seconds", result.seconds}};
}

void sort_best_first(std::vector<Evaluation>& evaluations) {
    std::stable_sort(evaluations.begin(), evaluations.end(), [](const Evaluation& a, const Evaluation& b) {
        if (rung(a) != rung(b)) return rung(a) < rung(b);
        return rung(a) < 3 && ranks_before(a, b);
    });
}

}  // namespace recuda
