#include "judge/race.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "judge/statistics.h"

namespace recuda {
namespace {

struct Runner {
    size_t candidate = 0;
    std::vector<double> samples;
    double score = 0;
};

void shuffle(std::vector<Runner>& runners, Rng& rng) {
    for (size_t i = runners.size(); i > 1; --i) std::swap(runners[i - 1], runners[rng.below(i)]);
}

/// The best third, and all within reach of the leader; sorts.
void eliminate(std::vector<Runner>& runners, double within, double kept) {
    std::stable_sort(runners.begin(), runners.end(),
                     [](const Runner& a, const Runner& b) { return a.score < b.score; });
    if (runners.empty()) return;
    const auto third = static_cast<size_t>(std::ceil(kept * static_cast<double>(runners.size())));
    const double limit = runners.front().score * within;
    size_t keep = 0;
    while (keep < runners.size() && (keep < third || runners[keep].score <= limit)) ++keep;
    runners.resize(keep);
}

/// Visits everybody once; who fails is out. False where it was stopped.
bool pass(std::vector<Runner>& runners, const Visit& visit, Rng& rng, const std::stop_token& stop) {
    shuffle(runners, rng);
    for (Runner& runner : runners) {
        if (stop.stop_requested()) return false;
        const std::vector<double> samples = visit(runner.candidate, kVisitSamples);
        if (samples.empty()) runner.score = std::numeric_limits<double>::infinity();
        runner.samples.insert(runner.samples.end(), samples.begin(), samples.end());
    }
    std::erase_if(runners, [](const Runner& runner) { return std::isinf(runner.score); });
    return true;
}

/// One row a finalist: its log times, all rounds behind one another.
using Logs = std::vector<std::vector<double>>;

/// Takes one round; who fails is taken out. False where the round does not count.
bool round_of(std::vector<size_t>& finalists, Logs& logs, uint32_t round, const Visit& visit,
              const std::stop_token& stop) {
    const size_t count = finalists.size();
    for (size_t place = 0; place < count; ++place) {
        if (stop.stop_requested()) return false;
        const size_t i = (place + round) % count;
        const std::vector<double> samples = visit(finalists[i], kFinalSamples);
        if (samples.size() != kFinalSamples) {
            finalists.erase(finalists.begin() + static_cast<std::ptrdiff_t>(i));
            logs.erase(logs.begin() + static_cast<std::ptrdiff_t>(i));
            return true;
        }
        for (const double sample : samples) logs[i].push_back(std::log(sample));
    }
    return true;
}

/// Drops samples of a round that not everybody has.
void level(Logs& logs) {
    size_t all = std::numeric_limits<size_t>::max();
    for (const std::vector<double>& one : logs) all = std::min(all, one.size());
    for (std::vector<double>& one : logs) one.resize(all);
}

}  // namespace

std::vector<size_t> race(std::span<const double> first_ns, const Visit& visit, Rng& rng, const std::stop_token& stop) {
    std::vector<Runner> runners;
    for (size_t i = 0; i < first_ns.size(); ++i) runners.push_back({i, {}, first_ns[i]});
    eliminate(runners, kRaceHopeless, 0);
    uint32_t taken = 0;
    for (const uint32_t wanted : kRaceRounds) {
        // Few enough for the final: more samples would decide nothing.
        if (runners.size() <= kFinalists || stop.stop_requested()) break;
        bool whole = true;
        for (; whole && taken < wanted; taken += kVisitSamples) whole = pass(runners, visit, rng, stop);
        if (!whole) break;
        for (Runner& runner : runners) runner.score = median_of(runner.samples).value;
        eliminate(runners, 1 + kRaceWithin, kRaceKept);
    }
    std::stable_sort(runners.begin(), runners.end(),
                     [](const Runner& a, const Runner& b) { return a.score < b.score; });
    std::vector<size_t> best;
    for (size_t i = 0; i < std::min(runners.size(), kFinalists); ++i) best.push_back(runners[i].candidate);
    return best;
}

std::vector<size_t> final_order(std::vector<size_t> finalists, const Visit& visit, const std::stop_token& stop) {
    Logs logs(finalists.size());
    for (uint32_t round = 0; round < kFinalRounds && finalists.size() > 1; ++round) {
        const bool whole = round_of(finalists, logs, round, visit, stop);
        level(logs);
        if (!whole) break;
    }
    if (finalists.size() < 2 || logs.front().empty()) return finalists;
    std::vector<double> turn(logs.front().size(), 0);
    for (const std::vector<double>& one : logs)
        for (size_t i = 0; i < turn.size(); ++i) turn[i] += one[i] / static_cast<double>(logs.size());
    std::vector<std::pair<double, size_t>> ranked;
    for (size_t finalist = 0; finalist < finalists.size(); ++finalist) {
        std::vector<double> against(turn.size());
        for (size_t i = 0; i < turn.size(); ++i) against[i] = logs[finalist][i] - turn[i];
        ranked.emplace_back(median_of(std::move(against)).value, finalists[finalist]);
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<size_t> order;
    for (const auto& [score, finalist] : ranked) order.push_back(finalist);
    return order;
}

}  // namespace recuda
