#include "judge/race.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "judge/noise_fixture.h"
#include "judge/proof_plan.h"
#include "judge/proof_statistics.h"
#include "judge/statistics.h"

namespace recuda {
namespace {

/// Candidates of given speeds in one noisy session.
class Field {
 public:
    Field(std::vector<double> true_ns, Rng& rng) : true_ns_(std::move(true_ns)), rng_(rng), session_(rng) {
        for (size_t i = 0; i < true_ns_.size(); ++i) first_.push_back(session_.sample(i, true_ns_[i]));
    }
    Visit visit() {
        return [this](size_t candidate, uint32_t samples) {
            std::vector<double> times;
            for (uint32_t i = 0; i < samples; ++i) times.push_back(session_.sample(candidate, true_ns_[candidate]));
            taken_ += samples;
            return times;
        };
    }
    std::vector<size_t> order() { return final_order(race(first_, visit(), rng_, {}), visit(), {}); }
    double true_ns(size_t candidate) const { return true_ns_[candidate]; }
    size_t taken() const { return taken_; }

 private:
    std::vector<double> true_ns_;
    Rng& rng_;
    NoisySession session_;
    std::vector<double> first_;
    size_t taken_ = 0;
};

/// The median time of new samples in a session of both kernels, as a log ratio of the last to the first.
double proof_session(Rng& rng) {
    NoisySession session(rng);
    std::vector<double> times[2];
    for (size_t visit = 0; visit < 2 * kProofBlocks; ++visit)
        for (size_t sample = 0; sample < kBlockPairs; ++sample)
            times[abba_arm(visit)].push_back(session.sample(abba_arm(visit), 1000));
    return session_statistic(times[0], times[1]);
}

/// How much faster than the baseline the best of equal candidates seems by 27 samples each, taken in turns.
double claim_of_best(Rng& rng, size_t candidates) {
    NoisySession session(rng);
    std::vector<std::vector<double>> samples(candidates + 1);
    for (int i = 0; i < 27; ++i)
        for (size_t one = 0; one <= candidates; ++one) samples[one].push_back(session.sample(one, 1000));
    double best = median_of(samples[1]).value;
    for (size_t one = 2; one <= candidates; ++one) best = std::min(best, median_of(samples[one]).value);
    return median_of(samples[0]).value / best;
}

TEST(Race, FindsTheFastestWithFewSamples) {
    Rng rng(4);
    size_t near = 0, taken = 0;
    constexpr size_t kTrials = 100, kCandidates = 200;
    for (size_t trial = 0; trial < kTrials; ++trial) {
        std::vector<double> true_ns;
        for (size_t i = 0; i < kCandidates; ++i) true_ns.push_back(1000 * (1 + std::abs(0.4 * rng.normal())));
        const double best = *std::min_element(true_ns.begin(), true_ns.end());
        Field field(true_ns, rng);
        near += field.true_ns(field.order().front()) <= 1.015 * best;
        taken += field.taken();
    }
    EXPECT_GE(near, 98u) << "of " << kTrials << ": as near as where it came to lie allows";
    EXPECT_LE(taken / kTrials, 4000u) << "100 samples each would be 20000";
}

TEST(Race, BestOfManyEqualOnesProvesNothing) {
    Rng rng(5);
    constexpr size_t kTrials = 400, kCandidates = 200;
    std::vector<double> claims;  // of who believes the samples by which it chose
    size_t faster = 0, faster_without_margin = 0;
    for (size_t trial = 0; trial < kTrials; ++trial) {
        Field field(std::vector<double>(kCandidates, 1000), rng);
        const std::vector<size_t> order = field.order();
        ASSERT_EQ(order.size(), kFinalists);
        if (trial % 20 == 0) claims.push_back(claim_of_best(rng, kCandidates));
        std::vector<double> sessions;
        for (size_t i = 0; i < kProofSessions; ++i) sessions.push_back(proof_session(rng));
        faster += proven(balanced(sessions), level_of(1)).outcome == Comparing::faster;
        faster_without_margin += proven(balanced(sessions), kProofLevel, 0).outcome == Comparing::faster;
    }
    EXPECT_GE(median_of(claims).value, 1.01);
    EXPECT_EQ(faster, 0u);
    EXPECT_LE(faster_without_margin, kTrials * 3 / 100) << "1 % are to be expected";
}

TEST(Race, DropsTheHopelessAtOnceAndThoseThatFail) {
    Rng rng(6);
    std::vector<double> first{100, 201, 150, 199};
    std::vector<size_t> visited;
    const Visit visit = [&](size_t candidate, uint32_t samples) {
        visited.push_back(candidate);
        if (candidate == 2) return std::vector<double>();
        return std::vector<double>(samples, first[candidate]);
    };
    EXPECT_EQ(race(first, visit, rng, {}), (std::vector<size_t>{0, 2, 3})) << "few enough go to the final as they are";
    EXPECT_EQ(final_order({3, 2, 0}, visit, {}), (std::vector<size_t>{0, 3}));
    EXPECT_EQ(std::count(visited.begin(), visited.end(), 1u), 0);
    EXPECT_EQ(std::count(visited.begin(), visited.end(), 2u), 1);
}

TEST(Race, EverybodyHasEachPlaceOfTheFinalEquallyOften) {
    std::vector<size_t> visited;
    const Visit visit = [&](size_t candidate, uint32_t samples) {
        visited.push_back(candidate);
        return std::vector<double>(samples, 100);
    };
    final_order({0, 1, 2, 3}, visit, {});
    ASSERT_EQ(visited.size(), 4 * kFinalRounds);
    for (size_t place = 0; place < 4; ++place)
        for (size_t candidate = 0; candidate < 4; ++candidate) {
            size_t count = 0;
            for (uint32_t round = 0; round < kFinalRounds; ++round) count += visited[4 * round + place] == candidate;
            EXPECT_EQ(count, kFinalRounds / 4) << place << " " << candidate;
        }
}

TEST(Race, StopsBetweenVisits) {
    Rng rng(7);
    std::stop_source source;
    std::vector<double> first(50, 100);
    first[7] = 99;
    size_t visits = 0;
    const Visit visit = [&](size_t, uint32_t samples) {
        if (++visits == 5) source.request_stop();
        return std::vector<double>(samples, 100);
    };
    EXPECT_EQ(race(first, visit, rng, source.get_token()).front(), 7u) << "by what was known";
    EXPECT_EQ(visits, 5u);
    EXPECT_EQ(final_order({5, 3}, visit, source.get_token()), (std::vector<size_t>{5, 3}));
}

}  // namespace
}  // namespace recuda
