#include "judge/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "judge/proof_statistics.h"
#include "judge/proof_verdict.h"
#include "judge/statistics.h"
#include "task/task.h"

namespace recuda {
namespace {

constexpr double kRounding = 1e-9;  // relative: what another library's logarithm may give
// Two sessions of one kernel differ by where it came to lie and by the card's clock; a median of a single session is
// held to no more.
constexpr double kMedianTolerance = 0.10;

const Comparison* same(const std::vector<Comparison>& all, const Comparison& wanted) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Comparison& one) {
        return one.proof && one.baseline == wanted.baseline && one.axes == wanted.axes;
    });
    return found == all.end() ? nullptr : &*found;
}

bool near(double a, double b) {
    return (std::isnan(a) && std::isnan(b)) || a == b || std::fabs(a - b) <= kRounding * std::fabs(a);
}

std::string words(const Comparison& one) {
    return fmt::format("{} {:.6g} ({:.6g} to {:.6g})", name(one.outcome), one.ratio, one.low, one.high);
}

std::string place(const Comparison& one) {
    return fmt::format("{} at {}", one.baseline, one.axes.empty() ? "all workloads" : shown(one.axes));
}

bool oppose(Comparing a, Comparing b) {
    return (a == Comparing::faster && b == Comparing::slower) || (a == Comparing::slower && b == Comparing::faster);
}

/// What only a device with a clock, or with checks, finds; a device that cannot run it finds nothing.
bool depends_on_device(Outcome outcome) {
    return outcome == Outcome::unsupported || outcome == Outcome::impossible || outcome == Outcome::timed_out;
}

/// Terms on which a proof was tested that are not this judge's: whoever may choose them proves anything.
std::vector<std::string> own_terms(const Proof& proof) {
    std::vector<std::string> differences;
    if (proof.promotion == 0 || !near(level_of(proof.promotion), proof.level))
        differences.push_back(fmt::format("{}: level {:.4g} is recorded, which is not that of promotion {}",
                                          proof.baseline, proof.level, proof.promotion));
    if (!near(kProofMargin, proof.margin))
        differences.push_back(
            fmt::format("{}: margin {:.4g} is recorded, proofs have {}", proof.baseline, proof.margin, kProofMargin));
    for (const WorkloadProof& workload : proof.workloads) {
        std::set<uint64_t> seeds;
        for (const ProofSession& session : workload.sessions)
            if (!seeds.insert(session.seed).second) {
                differences.push_back(fmt::format("{} at {}: two sessions have one seed, so one was taken twice",
                                                  proof.baseline, shown(workload.axes)));
                break;
            }
    }
    return differences;
}

/// Times that are not the medians of their samples.
std::vector<std::string> wrong_medians(const Evaluation& evaluation) {
    std::vector<std::string> differences;
    const auto check = [&](std::string_view what, double recorded, double computed) {
        if (!near(computed, recorded))
            differences.push_back(
                fmt::format("{}: {:.6g} ns is recorded, its samples give {:.6g}", what, recorded, computed));
    };
    const auto check_measurement = [&](std::string_view whose, const Measurement& one) {
        if (one.samples_ns.empty()) return;
        const Median median = median_of(one.samples_ns);
        const std::string where = fmt::format("the median of {}at {}", whose, shown(one.axes));
        check(where, one.median_ns, median.value);
        check("the lower bound of " + where, one.low_ns, median.low);
        check("the upper bound of " + where, one.high_ns, median.high);
        if (one.warm_ns && !one.warm_samples_ns.empty())
            check("the warm median at " + shown(one.axes), *one.warm_ns, median_of(one.warm_samples_ns).value);
    };
    std::vector<double> medians;
    for (const Measurement& one : evaluation.measurements) {
        check_measurement("", one);
        medians.push_back(one.median_ns);
    }
    for (const BaselineMeasurement& one : evaluation.baseline_measurements)
        check_measurement(one.baseline + " ", one.measurement);
    if (evaluation.median_ns && !medians.empty())
        check("the median over all workloads", *evaluation.median_ns, geometric_mean(medians));
    return differences;
}

}  // namespace

std::vector<Comparison> recomputed(const Evaluation& evaluation) {
    std::vector<Comparison> all;
    for (const Proof& proof : evaluation.proofs)
        for (Comparison& comparison : comparisons_of(proof)) all.push_back(std::move(comparison));
    return all;
}

std::vector<std::string> miscalculated(const Evaluation& evaluation) {
    std::vector<std::string> differences = wrong_medians(evaluation);
    for (const Proof& proof : evaluation.proofs)
        for (std::string& one : own_terms(proof)) differences.push_back(std::move(one));
    const std::vector<Comparison> computed = recomputed(evaluation);
    for (const Comparison& stored : evaluation.comparisons) {
        if (!stored.proof) continue;
        const Comparison* const now = same(computed, stored);
        // A baseline that could not be timed has no numbers, and then nothing is claimed.
        const bool claims = stored.outcome != Comparing::inconclusive || stored.ships.value_or(false);
        if (now == nullptr && std::isnan(stored.ratio) && !claims) continue;
        if (now == nullptr)
            differences.push_back(fmt::format("{}: there are no samples for {}", place(stored), words(stored)));
        else if (now->outcome != stored.outcome || now->ships != stored.ships || !near(now->ratio, stored.ratio) ||
                 !near(now->low, stored.low) || !near(now->high, stored.high))
            differences.push_back(
                fmt::format("{}: {} is recorded, its samples give {}", place(stored), words(stored), words(*now)));
    }
    for (const Comparison& now : computed)
        if (same(evaluation.comparisons, now) == nullptr)
            differences.push_back(
                fmt::format("{}: the samples give {}, and nothing is recorded", place(now), words(now)));
    return differences;
}

std::vector<std::string> contradictions(const Evaluation& stored, const Evaluation& again) {
    const bool one_device = stored.device == again.device;
    if (stored.outcome != again.outcome) {
        // What only the virtual GPU's checks see does not show elsewhere.
        const bool unseen = stored.outcome == Outcome::faulted && !again.device.starts_with("vgpu");
        if (!one_device && (unseen || depends_on_device(stored.outcome) || depends_on_device(again.outcome))) return {};
        return {fmt::format("the outcome was {}, and is {}", name(stored.outcome), name(again.outcome))};
    }
    std::vector<std::string> differences;
    if (!one_device) return differences;
    for (const Comparison& before : stored.comparisons) {
        const Comparison* const now = before.proof ? same(again.comparisons, before) : nullptr;
        if (now == nullptr || std::isnan(before.ratio) || std::isnan(now->ratio)) continue;
        if (now->low > before.high || now->high < before.low || oppose(now->outcome, before.outcome))
            differences.push_back(fmt::format("{} was {}, and is {}", place(before), words(before), words(*now)));
    }
    if (stored.median_ns && again.median_ns &&
        std::fabs(*again.median_ns - *stored.median_ns) > kMedianTolerance * *stored.median_ns)
        differences.push_back(
            fmt::format("the median was {:.1f} ns, and is {:.1f} ns", *stored.median_ns, *again.median_ns));
    return differences;
}

}  // namespace recuda
