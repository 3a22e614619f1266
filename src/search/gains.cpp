#include "search/gains.h"

#include <algorithm>
#include <cmath>

namespace recuda {
namespace {

/// What candidates of one device are ranked by.
std::optional<double> cost(const Evaluation& evaluation) {
    return evaluation.median_ns ? evaluation.median_ns : evaluation.estimate;
}

StepGain& step_named(std::vector<StepGain>& steps, const std::string& step) {
    const auto found = std::find_if(steps.begin(), steps.end(), [&](const StepGain& one) { return one.step == step; });
    if (found != steps.end()) return *found;
    return steps.emplace_back(StepGain{.step = step});
}

/// A tuner's candidate has its file's first point as parent, by digest, where it is a model's or the index's; a seed by
/// name.
Origin side_of(const Evaluation& one, const ByDigest& known) {
    if (one.origin != Origin::tuner) return one.origin;
    const auto parent = known.find(one.parent);
    return parent == known.end() ? Origin::seed : parent->second.origin;
}

const Evaluation* best_of(Origin side, std::span<const Evaluation* const> right, const ByDigest& known) {
    const auto found =
        std::find_if(right.begin(), right.end(), [&](const Evaluation* one) { return side_of(*one, known) == side; });
    return found == right.end() ? nullptr : *found;
}

/// A proof against that side over all workloads, or null.
const Comparison* proof_against(const Evaluation& winner, std::string_view side) {
    for (const Comparison& comparison : winner.comparisons)
        if (comparison.proof && comparison.axes.empty() && comparison.baseline == side &&
            std::isfinite(comparison.ratio) && comparison.low > 0)
            return &comparison;
    return nullptr;
}

}  // namespace

bool is_of_model(const Evaluation& one, const ByDigest& known) { return side_of(one, known) == Origin::model; }

const Evaluation* best_of_model(std::span<const Evaluation* const> right, const ByDigest& known) {
    return best_of(Origin::model, right, known);
}

const Evaluation* best_of_seeds(std::span<const Evaluation* const> right, const ByDigest& known) {
    return best_of(Origin::seed, right, known);
}

void add_gains(ModelUse& use, std::span<const Evaluation> screened) {
    const Evaluation* best = nullptr;
    for (const Evaluation& one : screened) {
        StepGain& step = step_named(use.steps, one.step.empty() ? std::string(name(one.origin)) : one.step);
        ++step.candidates;
        if (one.outcome != Outcome::correct) continue;
        ++step.right;
        const std::optional<double> value = cost(one);
        if (!value) continue;
        if (!step.best || *value < *step.best) step.best = value, step.best_digest = one.digest;
        if (best != nullptr && !ranks_before(one, *best)) continue;
        if (best != nullptr && *value > 0) step.gain *= *cost(*best) / *value;
        best = &one;
    }
}

std::optional<ModelAgainstSeed> compared(const Evaluation& model, const Evaluation& seed) {
    ModelAgainstSeed pair{.model_digest = model.digest, .seed_digest = seed.digest};
    if (const Comparison* proof = proof_against(model, kBestSeed)) {
        pair.ratio = proof->ratio, pair.low = proof->low, pair.high = proof->high;
        pair.evidence = proof->evidence;
        return pair;
    }
    if (const Comparison* proof = proof_against(seed, kBestOfModel)) {
        pair.ratio = 1 / proof->ratio, pair.low = 1 / proof->high, pair.high = 1 / proof->low;
        pair.evidence = proof->evidence;
        return pair;
    }
    double log_ratio = 0, log_low = 0, log_high = 0;
    size_t count = 0;
    for (const Measurement& ours : model.measurements)
        for (const Measurement& theirs : seed.measurements) {
            if (ours.axes != theirs.axes || !(ours.low_ns > 0) || !(theirs.low_ns > 0)) continue;
            log_ratio += std::log(theirs.median_ns / ours.median_ns);
            log_low += std::log(theirs.low_ns / ours.high_ns);
            log_high += std::log(theirs.high_ns / ours.low_ns);
            ++count;
        }
    if (count > 0) {
        const auto mean = [&](double log) { return std::exp(log / static_cast<double>(count)); };
        pair.ratio = mean(log_ratio);
        pair.low = mean(log_low);
        pair.high = mean(log_high);
        pair.evidence = "medians, each measured by itself, and the ends of their intervals: no proof";
        return pair;
    }
    if (!model.estimate || !seed.estimate || !(*model.estimate > 0)) return std::nullopt;
    pair.ratio = *seed.estimate / *model.estimate;
    pair.evidence = "estimates of the virtual GPU: no times";
    return pair;
}

}  // namespace recuda
