#include "evaluation/evaluation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "evaluation/words.h"

namespace recuda {
namespace {

Evaluation whole() {
    Evaluation evaluation;
    evaluation.id = "run-3";
    evaluation.digest = "abc";
    evaluation.task = "nano30b_rmsnorm";
    evaluation.outcome = evaluation.verdict.outcome = Outcome::wrong;
    evaluation.origin = Origin::tuner;
    evaluation.parent = "plain.cu";
    evaluation.file = "candidates/abc.cu";
    evaluation.language = "cuda";
    evaluation.idea = "one block a row";
    evaluation.tunables = {{"BLOCK", 128}};
    evaluation.device = "vgpu sm_90";
    evaluation.target = "sm_90";
    evaluation.verdict.workloads = {
        {{{"T", 3}, {"H", 2688}}, Outcome::wrong, HUGE_VAL, 0.5, "special", "y[0, 1]: 0, wanted nan"}};
    Report report;
    report.check = Check::misaligned;
    report.line = 12;
    report.other = OtherAccess{3, {1, 0, 0}, {2, 0, 0}};
    evaluation.verdict.reports = {report};
    evaluation.verdict.left_out = {"T=2048, H=2688"};
    evaluation.verdict.log = "wrong";
    evaluation.resources = {32, 4, 128, 8, 1};
    evaluation.measurements = {{{{"T", 1}},
                                {1.5, 2.5},
                                2,
                                1.5,
                                2.5,
                                600,
                                300,
                                0.5,
                                1980,
                                1.25,
                                {1, 1.5},
                                0.5,
                                "memory",
                                "graph of 20 runs",
                                "drifts"}};
    evaluation.median_ns = 2;
    evaluation.comparisons = {{"plain", Comparing::faster, 1.25, 1.2, 1.3, {{"T", 1}}, "screening"}};
    evaluation.baseline_measurements = {{"plain", evaluation.measurements[0], {1.25, 1.5}}};
    evaluation.stage = "whole";
    evaluation.build_seconds = 0.125;
    evaluation.judge_seconds = 0.25;
    evaluation.seed = 0xfedcba9876543210;
    evaluation.when = "2026-11-30T11:02:33Z";
    return evaluation;
}

TEST(Evaluation, SurvivesJson) {
    const Json json = to_json(whole());
    EXPECT_EQ(to_json(evaluation_from_json(parse_json(dump(json), "a line"))), json);
    EXPECT_EQ(json.at("workloads").at(0).at("max_error"), "inf");
    EXPECT_EQ(json.at("estimate"), nullptr);
    EXPECT_EQ(json.at("comparisons").at(0).at("outcome"), "FASTER");
    EXPECT_EQ(json.at("reports").at(0).at("check"), "misaligned");
    EXPECT_EQ(json.at("measurements").at(0).at("share_of_peak"), 0.5);
    EXPECT_EQ(json.at("baseline_measurements").at(0).at("candidate_samples_ns"), Json({1.25, 1.5}));
}

TEST(Evaluation, ReadsLinesOfTheFirstVersion) {
    Json json = to_json(whole());
    json.erase("baseline_measurements");
    for (const char* added : {"bytes", "share_of_peak"}) json.at("measurements").at(0).erase(added);
    const Evaluation old = evaluation_from_json(json);
    EXPECT_TRUE(old.baseline_measurements.empty());
    EXPECT_FALSE(old.measurements.at(0).share_of_peak);
}

TEST(Evaluation, RefusesOtherJson) {
    for (const char* text : {"{}", "[]", "3", R"({"id": 3})"})
        EXPECT_THROW(evaluation_from_json(parse_json(text, "a line")), Error) << text;
    Json json = to_json(whole());
    json["outcome"] = "splendid";
    EXPECT_THROW(evaluation_from_json(json), Error);
}

TEST(Evaluation, Ranks) {
    Evaluation wrong = whole(), slow = whole(), fast = whole(), estimated = whole(), bare = whole();
    wrong.median_ns = 1;
    for (Evaluation* correct : {&slow, &fast, &estimated, &bare}) correct->outcome = Outcome::correct;
    slow.median_ns = 20;
    fast.median_ns = 10;
    estimated.median_ns = bare.median_ns = std::nullopt;
    estimated.estimate = 5;
    const Evaluation* order[] = {&fast, &slow, &estimated, &bare, &wrong};
    for (size_t i = 0; i < 5; ++i)
        for (size_t j = 0; j < 5; ++j) EXPECT_EQ(ranks_before(*order[i], *order[j]), i < j) << i << " " << j;
}

TEST(Words, Comparisons) {
    const std::pair<Comparing, const char*> cases[] = {
        {Comparing::faster, "1.50x (1.40 to 1.60) FASTER than plain"},
        {Comparing::slower, "1.50x (1.40 to 1.60) SLOWER than plain"},
        {Comparing::equivalent, "1.50x (1.40 to 1.60) EQUIVALENT to plain"},
        {Comparing::inconclusive, "1.50x (1.40 to 1.60) INCONCLUSIVE against plain"},
    };
    for (const auto& [outcome, words] : cases)
        EXPECT_EQ(shown(Comparison{.baseline = "plain", .outcome = outcome, .ratio = 1.5, .low = 1.4, .high = 1.6}),
                  words);
    EXPECT_EQ(shown(Comparison{.baseline = "plain", .ratio = NAN}), "not compared with plain");
}

TEST(Evaluation, TimeIsUtc) {
    const std::string now = utc_now();
    ASSERT_EQ(now.size(), 20u) << now;
    EXPECT_EQ(now[10], 'T');
    EXPECT_EQ(now[19], 'Z');
}

}  // namespace
}  // namespace recuda
