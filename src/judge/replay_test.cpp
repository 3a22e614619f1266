#include "judge/replay.h"

#include <gtest/gtest.h>

#include <cmath>

#include "judge/noise_fixture.h"
#include "judge/proof_statistics.h"
#include "judge/proof_verdict.h"

namespace recuda {
namespace {

Evaluation proven(double ratio, uint64_t seed = 1) {
    Rng rng(seed);
    Evaluation evaluation{.outcome = Outcome::correct, .device = "cuda NVIDIA H200 sm_90"};
    Proof& proof = evaluation.proofs.emplace_back();
    proof = {.baseline = "plain", .level = level_of(1), .margin = kProofMargin};
    WorkloadProof& workload = proof.workloads.emplace_back();
    workload.axes = {{"T", 8}};
    for (int i = 0; i < 12; ++i) {
        NoisySession noise(rng);
        ProofSession& session = workload.sessions.emplace_back();
        for (int pair = 0; pair < 40; ++pair) {
            session.candidate_ns.push_back(noise.sample(0, 1000));
            session.baseline_ns.push_back(noise.sample(1, 1000 * ratio));
        }
    }
    evaluation.comparisons = comparisons_of(proof);
    evaluation.median_ns = 1000;
    return evaluation;
}

TEST(Replay, AVerdictFollowsFromItsSamples) {
    EXPECT_TRUE(miscalculated(proven(1.05)).empty());
    EXPECT_TRUE(miscalculated(Evaluation{}).empty());
    const auto changed = [](auto change) {
        Evaluation evaluation = proven(1.05);
        change(evaluation);
        return miscalculated(evaluation).size();
    };
    EXPECT_EQ(changed([](Evaluation& e) { e.comparisons[0].ratio += 0.001; }), 1u);
    EXPECT_EQ(changed([](Evaluation& e) { e.comparisons[1].outcome = Comparing::equivalent; }), 1u);
    EXPECT_EQ(changed([](Evaluation& e) { e.comparisons[0].ships = false; }), 1u);
    EXPECT_EQ(changed([](Evaluation& e) { e.comparisons.pop_back(); }), 1u);
    EXPECT_EQ(changed([](Evaluation& e) { e.proofs.clear(); }), 2u) << "a claim without samples";
    EXPECT_EQ(changed([](Evaluation& e) {
                  for (double& ns : e.proofs[0].workloads[0].sessions[3].baseline_ns) ns *= 1.1;
              }),
              2u);
    EXPECT_EQ(changed([](Evaluation& e) { e.proofs[0].level = 0.2; }), 2u);
}

TEST(Replay, ASecondJudgementMayContradict) {
    const Evaluation stored = proven(1.05);
    EXPECT_TRUE(contradictions(stored, stored).empty());
    EXPECT_TRUE(contradictions(stored, proven(1.05, 2)).empty()) << "other samples of the same";
    EXPECT_EQ(contradictions(stored, proven(1.2, 2)).size(), 2u) << "the whole, and its workload";
    EXPECT_EQ(contradictions(stored, proven(0.9, 2)).size(), 2u);

    Evaluation again = stored;
    again.median_ns = 1200;
    EXPECT_EQ(contradictions(stored, again).size(), 1u);
    again.device = "cuda NVIDIA L4 sm_89";
    EXPECT_TRUE(contradictions(stored, again).empty()) << "another card has other times";
    again.outcome = Outcome::wrong;
    EXPECT_EQ(contradictions(stored, again).size(), 1u) << "but it must be right there too";
    again.outcome = Outcome::unsupported;
    EXPECT_TRUE(contradictions(stored, again).empty()) << "says nothing of the candidate";
    again.device = stored.device;
    EXPECT_EQ(contradictions(stored, again).size(), 1u);

    const Evaluation raced{.outcome = Outcome::faulted, .device = "vgpu sm_90"};
    EXPECT_TRUE(contradictions(raced, stored).empty()) << "a GPU has no such check";
    EXPECT_EQ(contradictions(stored, raced).size(), 1u) << "but a fault counts against what seemed right";
}

}  // namespace
}  // namespace recuda
