#include "judge/proof_statistics.h"

#include <boost/math/distributions/students_t.hpp>
#include <cassert>
#include <cmath>
#include <limits>
#include <vector>

#include "judge/statistics.h"

namespace recuda {
namespace {

constexpr size_t kLeastForDependence = 8;
constexpr double kDependenceQuantile = 1.96;  // of a normal distribution, 2.5 % on one side

Comparing outcome_of(const Proven& proven, double margin) {
    const double slower = 1 - margin, faster = 1 / slower;
    if (proven.low > faster) return Comparing::faster;
    if (proven.high < slower) return Comparing::slower;
    if (proven.low >= slower && proven.high <= faster) return Comparing::equivalent;
    return Comparing::inconclusive;
}

}  // namespace

double level_of(size_t promotion) {
    assert(promotion > 0);
    const auto n = static_cast<double>(promotion);
    return kProofLevel / (n * (n + 1));
}

double session_statistic(std::span<const double> candidate_ns, std::span<const double> baseline_ns) {
    assert(candidate_ns.size() == baseline_ns.size() && !candidate_ns.empty());
    std::vector<double> logs;
    for (size_t i = 0; i < candidate_ns.size(); ++i) logs.push_back(std::log(baseline_ns[i] / candidate_ns[i]));
    return median_of(std::move(logs)).value;
}

std::vector<double> balanced(std::span<const double> session_statistics) {
    std::vector<double> means;
    for (size_t i = 0; i + 1 < session_statistics.size(); i += 2)
        means.push_back((session_statistics[i] + session_statistics[i + 1]) / 2);
    return means;
}

double neighbours_correlation(std::span<const double> statistics) {
    double mean = 0, squares = 0, products = 0;
    for (const double one : statistics) mean += one / static_cast<double>(statistics.size());
    for (size_t i = 0; i < statistics.size(); ++i) {
        squares += (statistics[i] - mean) * (statistics[i] - mean);
        if (i > 0) products += (statistics[i] - mean) * (statistics[i - 1] - mean);
    }
    return squares > 0 ? products / squares : 0;
}

bool are_dependent(std::span<const double> statistics) {
    if (statistics.size() < kLeastForDependence) return false;
    const auto n = static_cast<double>(statistics.size());
    return neighbours_correlation(statistics) > kDependenceQuantile / std::sqrt(n) - 1 / n;
}

Proven proven(std::span<const double> session_statistics, double level, double margin) {
    const auto sessions = static_cast<double>(session_statistics.size());
    double mean = 0, squares = 0;
    for (const double one : session_statistics) mean += one / sessions;
    if (session_statistics.size() < 2)
        return {Comparing::inconclusive, session_statistics.empty() ? 0 : std::exp(mean), 0,
                std::numeric_limits<double>::infinity()};
    for (const double one : session_statistics) squares += (one - mean) * (one - mean);
    const double worth = are_dependent(session_statistics) ? 1 : sessions;
    const double error = std::sqrt(squares / (sessions - 1) / worth);
    const double quantile =
        boost::math::quantile(boost::math::complement(boost::math::students_t(sessions - 1), level));
    Proven result{Comparing::inconclusive, std::exp(mean), std::exp(mean - quantile * error),
                  std::exp(mean + quantile * error)};
    result.outcome = outcome_of(result, margin);
    return result;
}

bool not_slower(const Proven& proven) { return proven.low > 1 - kGuardMargin; }

}  // namespace recuda
