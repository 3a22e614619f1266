// The statistics of proofs against a model of a GPU's noise: how often they claim what is not so, and miss what is.
#include "judge/proof_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "judge/noise_fixture.h"
#include "judge/proof_plan.h"

namespace recuda {
namespace {

constexpr size_t kTrials = 4000;

/// Session statistics of two kernels that are equally fast. The noise is a factor, so that of a kernel that is r times
/// as fast differs by log r alone.
std::vector<double> equal_sessions(Rng& rng, size_t sessions) {
    std::vector<double> statistics;
    for (size_t i = 0; i < sessions; ++i) {
        NoisySession session(rng);
        std::vector<double> times[2];
        for (size_t visit = 0; visit < 2 * kProofBlocks; ++visit) {
            const size_t arm = abba_arm(visit);
            for (size_t sample = 0; sample < kBlockPairs; ++sample) times[arm].push_back(session.sample(arm, 1000));
        }
        statistics.push_back(session_statistic(times[0], times[1]));
    }
    return statistics;
}

class SimulatedProofs : public testing::Test {
 protected:
    static void SetUpTestSuite() {
        Rng rng(20261130);
        for (size_t i = 0; i < kTrials; ++i) equal_.push_back(equal_sessions(rng, kProofSessions));
    }

    /// The share of trials with this outcome where the candidate is `ratio` times as fast.
    static double share(Comparing outcome, double ratio, double level = level_of(1), double margin = kProofMargin) {
        size_t count = 0;
        for (std::vector<double> statistics : equal_) {
            for (double& one : statistics) one += std::log(ratio);
            count += proven(balanced(statistics), level, margin).outcome == outcome;
        }
        return static_cast<double>(count) / kTrials;
    }

    static inline std::vector<std::vector<double>> equal_;
};

TEST(ProofStatistics, FindThreePercentBehindTheSpreadOfAnH200) {
    // Of the ratio between sessions, and what being loaded first does: docs/evidence/2026-11-30-h200-proofs.
    constexpr double kSpread = 0.021, kLoadedFirst = 0.03;
    Rng rng(48);
    size_t found = 0, claimed = 0;
    for (size_t i = 0; i < kTrials; ++i) {
        std::vector<double> equal(kProofSessions), faster(kProofSessions);
        for (size_t k = 0; k < kProofSessions; ++k) {
            const double loaded_first = k % 2 == 0 ? -kLoadedFirst : kLoadedFirst;
            equal[k] = loaded_first + kSpread * rng.normal();
            faster[k] = std::log(1.03) + loaded_first + kSpread * rng.normal();
        }
        claimed += proven(balanced(equal), level_of(1), kProofMargin).outcome == Comparing::faster;
        found += proven(balanced(faster), level_of(1), kProofMargin).outcome == Comparing::faster;
    }
    EXPECT_LE(static_cast<double>(claimed) / kTrials, 0.001);
    EXPECT_GE(static_cast<double>(found) / kTrials, 0.95);
}

TEST_F(SimulatedProofs, ClaimNoWinAtEquality) {
    EXPECT_LE(share(Comparing::faster, 1), 0.001) << "the margin keeps it far away";
    EXPECT_LE(share(Comparing::slower, 1), 0.001);
    // Without its help the test must still hold its level, and so it must where the margin is all that there is.
    for (const size_t promotion : {1, 2, 5}) {
        const double level = level_of(promotion), allowed = level + 0.005;
        EXPECT_LE(share(Comparing::faster, 1, level, 0), allowed) << promotion;
        EXPECT_LE(share(Comparing::slower, 1, level, 0), allowed) << promotion;
        EXPECT_LE(share(Comparing::faster, 1 / (1 - kProofMargin), level), allowed) << promotion;
        EXPECT_LE(share(Comparing::slower, 1 - kProofMargin, level), allowed) << promotion;
        EXPECT_LE(share(Comparing::equivalent, 1 / (1 - kProofMargin), level), allowed) << promotion;
    }
    EXPECT_LE(share(Comparing::faster, 1, kProofLevel, 0), 0.015);
}

TEST_F(SimulatedProofs, FindThreePercent) {
    for (const size_t promotion : {1, 2, 5}) {
        EXPECT_GE(share(Comparing::faster, 1.03, level_of(promotion)), 0.95) << promotion;
        EXPECT_GE(share(Comparing::slower, 1 / 1.03, level_of(promotion)), 0.95) << promotion;
    }
}

TEST_F(SimulatedProofs, CallsSmallDifferencesEquivalentOrInconclusive) {
    EXPECT_GE(share(Comparing::equivalent, 1), 0.8);
    EXPECT_GE(share(Comparing::equivalent, 1.005) + share(Comparing::inconclusive, 1.005), 0.999);
    EXPECT_GE(share(Comparing::inconclusive, 1.005), 0.02);
    EXPECT_GE(share(Comparing::inconclusive, 1.01), 0.98);
}

TEST(ProofStatistics, AreTheTTestOfTheSessions) {
    // Mean 0.03, standard deviation 0.01, n = 4: error 0.005. R: qt(0.99, 3) = 4.540703.
    const std::vector<double> sessions{0.03 - std::sqrt(1.5) * 0.01, 0.03 + std::sqrt(1.5) * 0.01, 0.03, 0.03};
    const Proven result = proven(sessions, 0.01);
    EXPECT_NEAR(std::log(result.ratio), 0.03, 1e-12);
    EXPECT_NEAR(std::log(result.low), 0.03 - 4.540703 * 0.005, 1e-8);
    EXPECT_NEAR(std::log(result.high), 0.03 + 4.540703 * 0.005, 1e-8);
    EXPECT_EQ(result.outcome, Comparing::inconclusive);
    EXPECT_TRUE(not_slower(result));
}

TEST(ProofStatistics, TheIntervalAgreesWithTheVerdict) {
    struct Row {
        std::vector<double> sessions;
        Comparing wanted;
        bool not_slower;
    };
    const Row rows[] = {{{0.05, 0.051, 0.049, 0.05}, Comparing::faster, true},
                        {{-0.05, -0.051, -0.049, -0.05}, Comparing::slower, false},
                        {{0.001, -0.001, 0.0005, 0}, Comparing::equivalent, true},
                        {{-0.015, -0.0151, -0.0149, -0.015}, Comparing::slower, true},
                        {{0.1, -0.1, 0.05, -0.02}, Comparing::inconclusive, false},
                        {{0.5}, Comparing::inconclusive, false},
                        {{}, Comparing::inconclusive, false}};
    for (const Row& row : rows) {
        const Proven result = proven(row.sessions, 0.01);
        EXPECT_EQ(result.outcome, row.wanted) << row.sessions.size();
        EXPECT_EQ(not_slower(result), row.not_slower);
        EXPECT_LE(result.low, result.ratio);
        EXPECT_GE(result.high, result.ratio);
    }
}

TEST(ProofStatistics, ADriftFromSessionToSessionProvesNothing) {
    constexpr double kSpread = 0.02;
    struct Row {
        double kept, ratio, least, most;  // of the drift from one session to the next; share of FASTER
    };
    // Taken for independent, the second to fourth row give 0.9, 4.7 and 11.8 %.
    const Row rows[] = {{0, 1, 0, 0.001},    {0.8, 1, 0, 0.005}, {0.9, 1, 0, 0.008},
                        {0.95, 1, 0, 0.015}, {0, 1.03, 0.96, 1}, {0.9, 1.2, 0.95, 1}};
    Rng rng(7);
    for (const Row& row : rows) {
        size_t faster = 0;
        for (size_t trial = 0; trial < kTrials; ++trial) {
            double drift = kSpread * rng.normal();
            std::vector<double> sessions;
            for (size_t i = 0; i < kProofSessions; ++i) {
                sessions.push_back(std::log(row.ratio) + drift);
                drift = row.kept * drift + std::sqrt(1 - row.kept * row.kept) * kSpread * rng.normal();
            }
            faster += proven(balanced(sessions), level_of(1), kProofMargin).outcome == Comparing::faster;
        }
        const double share = static_cast<double>(faster) / kTrials;
        EXPECT_LE(share, row.most) << row.kept;
        EXPECT_GE(share, row.least) << row.kept;
    }
}

TEST(ProofStatistics, DependentValuesCountAsOne) {
    const std::vector<double> apart{0.02, 0.04, 0.02, 0.04, 0.02, 0.04, 0.02, 0.04},
        together{0.02, 0.02, 0.02, 0.02, 0.04, 0.04, 0.04, 0.04};
    EXPECT_NEAR(neighbours_correlation(apart), -7. / 8, 1e-12);
    EXPECT_NEAR(neighbours_correlation(together), 5. / 8, 1e-12);
    EXPECT_EQ(neighbours_correlation(std::vector<double>(9, 0)), 0);
    EXPECT_FALSE(are_dependent(apart));
    EXPECT_TRUE(are_dependent(together));
    EXPECT_FALSE(are_dependent(std::vector<double>{0.02, 0.02, 0.04, 0.04})) << "too few to tell";
    const double one = std::log(proven(together, 0.01).high) - 0.03, mean = std::log(proven(apart, 0.01).high) - 0.03;
    EXPECT_NEAR(one / mean, std::sqrt(8), 1e-9);
}

TEST(ProofStatistics, LevelsOfAllPromotionsAddUp) {
    double spent = 0;
    for (size_t promotion = 1; promotion < 10000; ++promotion) spent += level_of(promotion);
    EXPECT_LE(spent, kProofLevel);
    EXPECT_GE(spent, 0.999 * kProofLevel);
}

TEST(ProofStatistics, ASessionIsTheMedianOfItsPairs) {
    EXPECT_NEAR(session_statistic(std::vector<double>{100, 100, 300}, std::vector<double>{103, 103, 100}),
                std::log(1.03), 1e-12);
}

}  // namespace
}  // namespace recuda
