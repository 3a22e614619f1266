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
        session.seed = static_cast<uint64_t>(i);
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
    EXPECT_EQ(changed([](Evaluation& e) { e.proofs[0].level = 0.2; }), 3u) << "the level, and what it gives";
}

TEST(Replay, ARecordThatFitsItselfMayStillBeNone) {
    const auto found = [](auto change) {
        Evaluation evaluation = proven(1.02);
        change(evaluation);
        const std::vector<std::string> all = miscalculated(evaluation);
        return all.empty() ? std::string() : all.front();
    };
    const auto recomputed_with = [](Evaluation& e) { e.comparisons = comparisons_of(e.proofs[0]); };
    // Terms of a proof that make more of its samples, with the verdicts that follow from them.
    EXPECT_NE(found([&](Evaluation& e) { e.proofs[0].level = 0.49, recomputed_with(e); }).find("level"),
              std::string::npos);
    EXPECT_NE(found([&](Evaluation& e) { e.proofs[0].margin = 0, recomputed_with(e); }).find("margin"),
              std::string::npos);
    EXPECT_NE(found([&](Evaluation& e) { e.proofs[0].promotion = 0, recomputed_with(e); }).find("level"),
              std::string::npos);
    EXPECT_NE(found([&](Evaluation& e) {
                  auto& sessions = e.proofs[0].workloads[0].sessions;
                  sessions.assign(12, sessions[0]);
                  recomputed_with(e);
              }).find("taken twice"),
              std::string::npos);
    // A claim without numbers.
    EXPECT_NE(found([](Evaluation& e) {
                  e.comparisons[0] = {"plain", Comparing::faster, NAN, NAN, NAN, {}, "", true, true};
              }),
              "");
    EXPECT_NE(found([](Evaluation& e) {
                  e.comparisons.push_back({"torch", Comparing::faster, NAN, NAN, NAN, {}, "", true});
              }),
              "");
    EXPECT_EQ(found([](Evaluation& e) {
                  e.comparisons.push_back({"torch", Comparing::inconclusive, NAN, NAN, NAN, {}, "", true});
              }),
              "")
        << "a baseline that could not be timed";
}

TEST(Replay, MediansFollowFromTheirSamples) {
    Evaluation evaluation;
    for (const double ns : {1000.0, 4000.0}) {
        Measurement& one = evaluation.measurements.emplace_back();
        one.axes = {{"T", static_cast<int64_t>(ns)}};
        one.samples_ns = {ns, ns - 1, ns + 1};
        one.median_ns = ns, one.low_ns = ns - 1, one.high_ns = ns + 1;
        one.warm_samples_ns = {ns / 2};
        one.warm_ns = ns / 2;
    }
    evaluation.median_ns = 2000;
    evaluation.baseline_measurements.push_back({"plain", evaluation.measurements[0], {}});
    EXPECT_TRUE(miscalculated(evaluation).empty());
    const auto changed = [&](auto change) {
        Evaluation other = evaluation;
        change(other);
        return miscalculated(other).size();
    };
    EXPECT_EQ(changed([](Evaluation& e) { e.median_ns = 1500; }), 1u);
    EXPECT_EQ(changed([](Evaluation& e) { e.measurements[0].median_ns = 900; }), 2u) << "and the mean of all";
    EXPECT_EQ(changed([](Evaluation& e) { e.measurements[0].low_ns = 900; }), 1u);
    EXPECT_EQ(changed([](Evaluation& e) { e.measurements[1].warm_ns = 900; }), 1u);
    EXPECT_EQ(changed([](Evaluation& e) { e.baseline_measurements[0].measurement.median_ns = 2000; }), 1u);
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
