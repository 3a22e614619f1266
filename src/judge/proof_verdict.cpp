#include "judge/proof_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "judge/proof_statistics.h"
#include "judge/statistics.h"

namespace recuda {
namespace {

void append(std::vector<double>& all, const std::vector<double>& more) {
    all.insert(all.end(), more.begin(), more.end());
}

/// "48 sessions of 10 pairs, SM clock 1965 to 1980 MHz".
std::string sessions_words(const Proof& proof) {
    double low = std::numeric_limits<double>::infinity(), high = 0;
    size_t pairs = std::numeric_limits<size_t>::max();
    for (const WorkloadProof& workload : proof.workloads)
        for (const ProofSession& session : workload.sessions) {
            pairs = std::min(pairs, session.candidate_ns.size());
            for (const auto* clocks : {&session.candidate_clock_mhz, &session.baseline_clock_mhz})
                for (const double clock : *clocks) low = std::min(low, clock), high = std::max(high, clock);
        }
    const size_t sessions = proof.workloads.front().sessions.size();
    std::string words = fmt::format("{} sessions of {} pairs", sessions, sessions == 0 ? 0 : pairs);
    if (high > 0) words += fmt::format(", SM clock {:.0f} to {:.0f} MHz", low, high);
    return words;
}

std::string evidence_of(const Proof& proof) {
    std::string words = fmt::format("proof: {}, margin {} %, level {:.3g} % (promotion {} of its run)",
                                    sessions_words(proof), 100 * proof.margin, 100 * proof.level, proof.promotion);
    if (!proof.unfit.empty()) words += "; this machine is not fit to prove: " + proof.unfit;
    return words;
}

Comparison comparison(const Proof& proof, const std::vector<double>& statistics,
                      const std::map<std::string, int64_t, std::less<>>& axes) {
    const std::vector<double> pairs = balanced(statistics);
    const Proven result = proven(pairs, proof.level, proof.margin);
    Comparison made{proof.baseline, result.outcome, result.ratio,       result.low,
                    result.high,    axes,           evidence_of(proof), true};
    if (are_dependent(pairs))
        made.evidence += fmt::format(
            "; neighbouring sessions depend on each other (correlation {:.2f}), so all count as "
            "one",
            neighbours_correlation(pairs));
    if (!proof.unfit.empty()) made.outcome = Comparing::inconclusive;
    return made;
}

}  // namespace

std::vector<Comparison> comparisons_of(const Proof& proof) {
    if (proof.workloads.empty()) return {};
    size_t sessions = std::numeric_limits<size_t>::max();
    for (const WorkloadProof& workload : proof.workloads) sessions = std::min(sessions, workload.sessions.size());
    std::vector<double> overall(sessions, 0);
    std::vector<Comparison> all(1);
    bool guarded = true;
    for (const WorkloadProof& workload : proof.workloads) {
        std::vector<double> statistics;
        for (size_t i = 0; i < sessions; ++i) {
            const ProofSession& session = workload.sessions[i];
            if (session.candidate_ns.empty()) throw Error("a session of the proof has no samples");
            statistics.push_back(session_statistic(session.candidate_ns, session.baseline_ns));
            overall[i] += statistics.back() / static_cast<double>(proof.workloads.size());
        }
        all.push_back(comparison(proof, statistics, workload.axes));
        guarded = guarded && not_slower({all.back().outcome, all.back().ratio, all.back().low, all.back().high});
    }
    all.front() = comparison(proof, overall, {});
    all.front().ships = guarded && all.front().outcome == Comparing::faster;
    return all;
}

ProofTimes times_of(const WorkloadProof& workload) {
    ProofTimes times;
    for (const ProofSession& session : workload.sessions) {
        append(times.candidate_ns, session.candidate_ns);
        append(times.baseline_ns, session.baseline_ns);
        append(times.candidate_clock_mhz, session.candidate_clock_mhz);
        append(times.baseline_clock_mhz, session.baseline_clock_mhz);
    }
    return times;
}

}  // namespace recuda
