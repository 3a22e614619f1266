// Who is timed when in a proof, and what its raw record says, with contestants that are scripted.
#include "judge/prover.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "device/device.h"
#include "judge/noise_fixture.h"
#include "judge/proof_statistics.h"
#include "judge/proof_verdict.h"

namespace recuda {
namespace {

/// A candidate and a baseline with given times, and a record of what was asked of whom.
class ProverTest : public testing::Test {
 protected:
    Contestant contestant(const std::string& name, double ns) {
        return {name, [this, name, ns](const Axes& axes, uint32_t samples) {
                    asked_.push_back(name + " T=" + std::to_string(axes.at("T")) + " x" + std::to_string(samples));
                    if (broken_) {
                        if (Timed timed = broken_(name); timed.outcome != Outcome::correct) return timed;
                    }
                    Timed timed{.method = "scripted"};
                    timed.samples_ns.assign(samples, ns * static_cast<double>(axes.at("T")));
                    timed.clock_mhz.assign(samples, 1980.4);
                    return timed;
                }};
    }
    ProofParts parts() {
        return {.candidate = contestant("candidate", 100),
                .baselines = {contestant("plain", 110), contestant("reference", 90)},
                .workloads = {{{"T", 1}}, {{"T", 8}}},
                .renew = [this](uint64_t seed) { seeds_.push_back(seed); },
                .plan = {.sessions = 3, .blocks = 2, .block_pairs = 2, .warmup_pairs = 1}};
    }
    std::vector<std::string> asked_;
    std::vector<uint64_t> seeds_;
    std::function<Timed(const std::string& name)> broken_;
};

TEST_F(ProverTest, TakesPairsInAbbaOrderInFreshSessions) {
    size_t told = 0;
    const SessionsTaken taken = take_sessions(parts(), Rng(1), {}, [&](size_t done, size_t of) {
        EXPECT_EQ(done, told++);
        EXPECT_EQ(of, 3u);
    });
    EXPECT_EQ(told, 4u);
    EXPECT_EQ(std::set<uint64_t>(seeds_.begin(), seeds_.end()).size(), 3u);
    ASSERT_EQ(taken.proofs.size(), 2u);
    const Proof& plain = taken.proofs[0];
    EXPECT_EQ(plain.baseline, "plain");
    EXPECT_EQ(plain.block_samples, 2u);
    ASSERT_EQ(plain.workloads.size(), 2u);
    for (const WorkloadProof& workload : plain.workloads) {
        ASSERT_EQ(workload.sessions.size(), 3u);
        EXPECT_EQ(workload.method, "scripted");
        for (size_t i = 0; i < 3; ++i) {
            const ProofSession& session = workload.sessions[i];
            EXPECT_EQ(session.seed, seeds_[i]);
            EXPECT_EQ(session.baseline_began, i == 1);
            EXPECT_EQ(session.candidate_ns.size(), 4u) << "warm-up samples do not count";
            EXPECT_EQ(session.candidate_clock_mhz, (std::vector<double>(4, 1980)));
            EXPECT_NEAR(session.log_ratio, std::log(1.1), 1e-9);
        }
    }
    // One workload and baseline of the first session, whichever came first.
    std::vector<std::string> order;
    for (size_t i = 0; i < 6; ++i)
        order.push_back(asked_[i].substr(0, asked_[i].find(' ')) + asked_[i].substr(asked_[i].rfind('x')));
    EXPECT_EQ(order,
              (std::vector<std::string>{"candidatex1", "plainx1", "candidatex2", "plainx2", "plainx2", "candidatex2"}));
}

TEST_F(ProverTest, ABaselineThatFailsIsLeftOut) {
    size_t asked = 0;
    broken_ = [&](const std::string& name) {
        const bool breaks = name == "plain" && ++asked == 10;
        return Timed{.outcome = breaks ? Outcome::wrong : Outcome::correct, .log = "not so"};
    };
    const SessionsTaken taken = take_sessions(parts(), Rng(1), {});
    EXPECT_EQ(taken.outcome, Outcome::correct);
    EXPECT_EQ(taken.problems[0], "the baseline is wrong: not so");
    EXPECT_EQ(taken.problems[1], "");
    EXPECT_EQ(taken.proofs[1].workloads[0].sessions.size(), 3u);
}

TEST_F(ProverTest, ACandidateThatFailsEndsIt) {
    broken_ = [](const std::string& name) {
        return Timed{.outcome = name == "candidate" ? Outcome::wrong : Outcome::correct, .log = "row 3"};
    };
    const SessionsTaken taken = take_sessions(parts(), Rng(1), {});
    EXPECT_EQ(taken.outcome, Outcome::wrong);
    EXPECT_EQ(taken.log, "row 3");
    EXPECT_EQ(asked_.size(), 1u);
}

TEST_F(ProverTest, ALostSessionIsTakenAgainOnce) {
    int lost = 1;
    size_t asked = 0;
    broken_ = [&](const std::string&) -> Timed {
        if (++asked > 20 && lost-- > 0) throw DeviceLost("gone");
        return {};
    };
    EXPECT_EQ(take_sessions(parts(), Rng(1), {}).proofs[0].workloads[0].sessions.size(), 3u);
    EXPECT_EQ(seeds_.size(), 4u);
    lost = 2, asked = 0;
    EXPECT_THROW(take_sessions(parts(), Rng(1), {}), DeviceLost);
}

TEST_F(ProverTest, StopsBetweenSamples) {
    std::stop_source source;
    broken_ = [&](const std::string&) {
        source.request_stop();
        return Timed{};
    };
    EXPECT_TRUE(take_sessions(parts(), Rng(1), source.get_token()).stopped);
    EXPECT_EQ(asked_.size(), 1u);
}

Proof simulated(double ratio, uint64_t seed, size_t workloads = 2) {
    Rng rng(seed);
    Proof proof{.baseline = "plain", .level = level_of(1), .margin = kProofMargin, .block_samples = 1};
    for (size_t workload = 0; workload < workloads; ++workload) {
        WorkloadProof& one = proof.workloads.emplace_back();
        one.axes = {{"T", static_cast<int64_t>(workload)}};
        for (size_t i = 0; i < kProofSessions; ++i) {
            NoisySession noise(rng);
            ProofSession& session = one.sessions.emplace_back();
            for (int pair = 0; pair < 40; ++pair) {
                session.candidate_ns.push_back(noise.sample(0, 1000));
                session.baseline_ns.push_back(noise.sample(1, 1000 * ratio));
            }
        }
    }
    return proof;
}

TEST(ProofVerdict, IsOfAllWorkloadsAndOfEach) {
    const std::vector<Comparison> faster = comparisons_of(simulated(1.05, 3));
    ASSERT_EQ(faster.size(), 3u);
    EXPECT_TRUE(faster[0].axes.empty());
    EXPECT_NEAR(faster[0].ratio, std::sqrt(faster[1].ratio * faster[2].ratio), 1e-12);
    for (const Comparison& one : faster) EXPECT_EQ(one.outcome, Comparing::faster);
    EXPECT_TRUE(*faster[0].ships);
    EXPECT_FALSE(faster[1].ships);

    // FASTER on the whole, and slower at one workload: that does not ship.
    Proof mixed = simulated(1.2, 4);
    mixed.workloads[1] = simulated(0.95, 5).workloads[1];
    const std::vector<Comparison> some = comparisons_of(mixed);
    EXPECT_EQ(some[0].outcome, Comparing::faster);
    EXPECT_EQ(some[2].outcome, Comparing::slower);
    EXPECT_FALSE(*some[0].ships);
}

TEST(ProofVerdict, AnUnfitMachineProvesNothing) {
    Proof proof = simulated(1.05, 3);
    proof.unfit = "it called plain FASTER than its copy";
    for (const Comparison& one : comparisons_of(proof)) {
        EXPECT_EQ(one.outcome, Comparing::inconclusive);
        EXPECT_NE(one.evidence.find("not fit to prove"), std::string::npos);
        EXPECT_GT(one.ratio, 1.04) << "what was seen is still shown";
    }
}

TEST(ProofVerdict, SurvivesItsJsonForm) {
    Evaluation evaluation;
    evaluation.proofs = {simulated(1.05, 3)};
    evaluation.proofs[0].workloads[0].sessions[0].seed = 0xfedcba9876543210;
    evaluation.comparisons = comparisons_of(evaluation.proofs[0]);
    const Evaluation again = evaluation_from_json(to_json(evaluation));
    ASSERT_EQ(again.proofs.size(), 1u);
    EXPECT_EQ(again.proofs[0].workloads[0].sessions[0].seed, 0xfedcba9876543210);
    EXPECT_EQ(to_json(again), to_json(evaluation));
    const std::vector<Comparison> recomputed = comparisons_of(again.proofs[0]);
    for (size_t i = 0; i < recomputed.size(); ++i)
        EXPECT_EQ(to_json(recomputed[i]), to_json(evaluation.comparisons[i])) << "to the last bit";
}

}  // namespace
}  // namespace recuda
