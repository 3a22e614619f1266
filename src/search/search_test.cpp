#include "search/search.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "search/proposer.h"
#include "search/search_test_support.h"
#include "search/space.h"
#include "store/results.h"
#include "store/run_folder.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

class SearchTest : public testing::Test {
 protected:
    RunResult run(const std::string& out, ScriptedJudge& judge, SearchOptions options,
                  RunFolder::Open how = RunFolder::Open::fresh, const std::stop_token& stop = {}) {
        const Task task = small_task();
        Space space(task, seeds(), workloads_of(task, false), judge.limits(), options.seed);
        const auto tuner = make_tuner(space, options.num_candidates);
        RunFolder folder(path(out), how,
                         {.task = task.name, .preset = "offline", .device = "vgpu sm_90", .asked = shown(options)});
        return search({judge, *tuner, folder}, options, stop);
    }
    fs::path path(const std::string& name) const { return folder_.path() / name; }
    std::vector<nlohmann::json> lines(const std::string& out) const {
        std::ifstream file(path(out) / "evaluations.jsonl");
        EXPECT_TRUE(file);
        std::vector<nlohmann::json> all;
        for (std::string line; std::getline(file, line);) all.push_back(nlohmann::json::parse(line));
        return all;
    }
    std::set<std::string> digests(const std::string& out) const {
        std::set<std::string> all;
        for (const auto& line : lines(out)) all.insert(line.at("digest"));
        return all;
    }
    TemporaryFolder folder_{"recuda-search-test"};
};

TEST_F(SearchTest, finds_the_best_point_and_leaves_a_run_folder) {
    ScriptedJudge judge;
    const RunResult result = run("D", judge, {.num_candidates = 16});
    EXPECT_EQ(result.evaluations.size(), 16u);
    EXPECT_EQ(result.stopped_by, StoppedBy::candidates);
    ASSERT_TRUE(result.best);
    EXPECT_EQ(result.best->estimate, 10);
    EXPECT_EQ(result.best->stage, "whole");
    EXPECT_EQ(result.best->origin, Origin::tuner);
    EXPECT_EQ(result.best->parent, "wide.cu");
    EXPECT_EQ(judge.calls, 16 + 3);
    const KernelFile best = read_kernel_file(path("D/best.cu"));
    EXPECT_EQ(best.task, "test_copy");
    EXPECT_EQ(digest_of(best, *first_legal_point(best, {{{"T", 1}, {"H", 64}}}, judge.limits())), result.best->digest);
    for (const std::string& digest : digests("D")) EXPECT_TRUE(fs::exists(path("D/candidates") / (digest + ".cu")));
    const auto json = to_json(result);
    int64_t sum = 0;
    for (const auto& [outcome, count] : json.at("outcomes").items()) sum += count.get<int64_t>();
    EXPECT_EQ(sum, json.at("candidates").get<int64_t>());
    EXPECT_EQ(results(path("D/results.duckdb"), {.all = true}).size(), 16u);
    EXPECT_EQ(results(path("D/results.duckdb"), {})[0].at("digest"), result.best->digest);
    EXPECT_EQ(nlohmann::json::parse(read_file(path("D/run.json"))).at("result").at("candidates"), 16);
}

TEST_F(SearchTest, a_small_space_is_exhausted) {
    ScriptedJudge judge;
    const RunResult result = run("D", judge, {.num_candidates = 500});
    EXPECT_EQ(result.stopped_by, StoppedBy::converged);
    EXPECT_EQ(result.exhausted, "all 21 points of 3 seeds were evaluated");
    EXPECT_EQ(result.evaluations.size(), 21u);
    EXPECT_EQ(result.outcomes().at("build_failed"), 3);
}

TEST_F(SearchTest, the_number_of_candidates_is_kept_exactly) {
    for (const size_t count : {0, 1, 4, 21}) {
        ScriptedJudge judge;
        const std::string out = "D" + std::to_string(count);
        EXPECT_EQ(run(out, judge, {.num_candidates = count}).evaluations.size(), count);
        EXPECT_EQ(digests(out).size(), count);
    }
}

TEST_F(SearchTest, one_seed_gives_one_set_of_candidates_and_seeds_differ) {
    ScriptedJudge a, b, c;
    run("A", a, {.num_candidates = 9, .seed = 7});
    run("B", b, {.num_candidates = 9, .seed = 7});
    run("C", c, {.num_candidates = 9, .seed = 8});
    EXPECT_EQ(a.asked, b.asked);
    EXPECT_NE(a.asked, c.asked);
}

TEST_F(SearchTest, a_run_stopped_anywhere_ends_as_an_undisturbed_one) {
    ScriptedJudge undisturbed;
    const RunResult whole = run("U", undisturbed, {.num_candidates = 12, .seed = 3});
    for (int at = 0; at < undisturbed.calls; at += 5) {
        const std::string out = "D" + std::to_string(at);
        std::stop_source stop;
        ScriptedJudge first, second;
        first.before = [&](int calls) {
            if (calls == at) stop.request_stop();
        };
        const RunResult broken =
            run(out, first, {.num_candidates = 12, .seed = 3}, RunFolder::Open::fresh, stop.get_token());
        EXPECT_EQ(broken.stopped_by, StoppedBy::interrupt);
        EXPECT_EQ(lines(out).size(), static_cast<size_t>(at));
        const RunResult resumed = run(out, second, {.num_candidates = 12, .seed = 3}, RunFolder::Open::resume);
        EXPECT_EQ(first.calls + second.calls, undisturbed.calls);
        EXPECT_EQ(digests(out), digests("U"));
        EXPECT_EQ(resumed.best->digest, whole.best->digest);
        EXPECT_EQ(lines(out).size(), lines("U").size());
    }
}

TEST_F(SearchTest, a_resumed_run_counts_what_is_there) {
    ScriptedJudge first, second, third;
    run("D", first, {.num_candidates = 6, .seed = 1});
    const RunResult more = run("D", second, {.num_candidates = 10, .seed = 2}, RunFolder::Open::resume);
    EXPECT_EQ(more.evaluations.size(), 10u);
    const RunResult same = run("D", third, {.num_candidates = 4, .seed = 1}, RunFolder::Open::resume);
    EXPECT_EQ(same.evaluations.size(), 10u);
    EXPECT_EQ(third.calls, 0);
}

TEST_F(SearchTest, a_finalist_that_is_wrong_on_the_whole_list_loses) {
    ScriptedJudge probe, judge;
    const std::string winner = run("P", probe, {.num_candidates = 16}).best->digest;
    judge.wrong_when_whole = {winner};
    const RunResult result = run("D", judge, {.num_candidates = 16});
    ASSERT_TRUE(result.best);
    EXPECT_NE(result.best->digest, winner);
    EXPECT_EQ(result.best->stage, "whole");
    EXPECT_EQ(result.outcomes().at("wrong"), 1);
    EXPECT_EQ(judge.calls, 16 + 4);
}

TEST_F(SearchTest, the_winner_of_the_final_is_proven) {
    ScriptedJudge judge;
    judge.has_clock = true;
    const RunResult result = run("D", judge, {.num_candidates = 8});
    ASSERT_TRUE(result.best);
    EXPECT_TRUE(result.best->tunables.empty()) << "plain: as the final had it, not the screening";
    EXPECT_EQ(result.best->proofs.size(), 1u);
    EXPECT_EQ(result.promotions, 1u);
    EXPECT_EQ(to_json(result).at("promotions"), 1);
    const std::string& digest = result.best->digest;
    EXPECT_EQ(lines("D").back().at("digest"), digest) << "the proof is the last thing";
    EXPECT_EQ(lines("D").back().at("comparisons").at(0).at("proof"), true);

    // Resumed without anything new nobody is proven again; with more candidates the next winner is held to more.
    EXPECT_EQ(run("D", judge, {.num_candidates = 8}, RunFolder::Open::resume).promotions, 1u);
    EXPECT_EQ(judge.promotions, (std::vector<size_t>{1}));
}

TEST_F(SearchTest, who_fails_in_its_proof_loses) {
    ScriptedJudge judge;
    judge.has_clock = true;
    const std::string loser = run("first", judge, {.num_candidates = 8}).best->digest;
    judge.wrong_when_proven = {loser};
    judge.promotions.clear();
    const RunResult result = run("D", judge, {.num_candidates = 8});
    ASSERT_TRUE(result.best);
    EXPECT_NE(result.best->digest, loser);
    EXPECT_FALSE(result.best->proofs.empty());
    EXPECT_EQ(judge.promotions, (std::vector<size_t>{1, 1})) << "only what came to a claim is counted";
    for (const Evaluation& evaluation : result.evaluations)
        EXPECT_EQ(evaluation.outcome == Outcome::wrong, evaluation.digest == loser);
}

TEST_F(SearchTest, a_proof_that_is_stopped_is_made_when_the_run_goes_on) {
    ScriptedJudge judge;
    judge.has_clock = true;
    std::stop_source interrupt;
    judge.before_proof = [&] { interrupt.request_stop(); };
    const RunResult stopped = run("D", judge, {.num_candidates = 8}, RunFolder::Open::fresh, interrupt.get_token());
    EXPECT_EQ(stopped.stopped_by, StoppedBy::interrupt);
    ASSERT_TRUE(stopped.best);
    EXPECT_TRUE(stopped.best->tunables.empty()) << "plain, whom the final chose";
    EXPECT_EQ(stopped.promotions, 0u);
    judge.before_proof = nullptr;
    const RunResult resumed = run("D", judge, {.num_candidates = 8}, RunFolder::Open::resume);
    EXPECT_EQ(resumed.best->digest, stopped.best->digest);
    EXPECT_EQ(resumed.promotions, 1u);
}

TEST_F(SearchTest, a_time_limit_ends_the_run_with_what_was_found) {
    ScriptedJudge judge;
    judge.before = [](int) { std::this_thread::sleep_for(std::chrono::milliseconds(100)); };
    const RunResult result = run("D", judge, {.num_candidates = 5000, .time_limit_s = 1});
    EXPECT_EQ(result.stopped_by, StoppedBy::time);
    EXPECT_GE(result.evaluations.size(), 2u);
    EXPECT_LT(result.evaluations.size(), 21u);
    EXPECT_TRUE(result.best);
}

TEST_F(SearchTest, a_run_without_time_is_empty_and_whole) {
    ScriptedJudge judge;
    judge.dawdles = true;
    const RunResult result = run("D", judge, {.time_limit_s = 0.05});
    EXPECT_EQ(result.stopped_by, StoppedBy::time);
    EXPECT_TRUE(result.evaluations.empty());
    EXPECT_FALSE(result.best);
    EXPECT_TRUE(lines("D").empty());
    EXPECT_TRUE(results(path("D/results.duckdb"), {.all = true}).empty());
}

TEST(Space, neighbours_are_one_step_then_two) {
    const Task task = small_task();
    const Space space(task, seeds(), workloads_of(task, false), DeviceLimits{}, 0);
    ASSERT_EQ(space.arms().size(), 3u);
    EXPECT_EQ(space.size(), 21u);
    const Arm& wide = space.arms()[1];
    const auto found = wide.neighbours(0);  // A = 1, B = 1
    ASSERT_GE(found.size(), 4u);
    EXPECT_EQ(wide.points[found[0]], (Point{{"A", 2}, {"B", 1}}));
    EXPECT_EQ(wide.points[found[1]], (Point{{"A", 1}, {"B", 2}}));
    EXPECT_EQ(wide.points[found[2]], (Point{{"A", 4}, {"B", 1}}));
    EXPECT_EQ(wide.points[found[3]], (Point{{"A", 2}, {"B", 2}}));
}

TEST(Space, a_seed_without_legal_points_is_named_and_a_huge_one_is_sampled) {
    std::string tunes;
    for (const char name : std::string("ABCDEF"))
        tunes += std::string("//! tune ") + name + " = 1, 2, 3, 4, 5, 6, 7, 8\n";
    const Task task = small_task();
    const Space space(task, {seed("none", "//! require H == 63\n"), seed("huge", tunes + "//! require A > 1\n")},
                      workloads_of(task, false), DeviceLimits{}, 0);
    EXPECT_EQ(space.notes(), std::vector<std::string>{"none.cu has no legal point for this task"});
    ASSERT_EQ(space.arms().size(), 1u);
    EXPECT_TRUE(space.arms()[0].sampled);
    EXPECT_EQ(space.size(), kMostPoints);
}

TEST(WithTask, adds_or_replaces_the_directive) {
    const std::tuple<std::string, Language, std::string> cases[] = {
        {"int x;\n", Language::cuda, "//! task    t\nint x;\n"},
        {"//! idea a\n//! task old\nint x;\n", Language::cuda, "//! idea a\n//! task    t\nint x;\n"},
        {"//! task old", Language::cuda, "//! task    t\n"},
        {"#!/usr/bin/python\nx\n", Language::triton, "#!/usr/bin/python\n#! task    t\nx\n"}};
    for (const auto& [text, language, wanted] : cases) EXPECT_EQ(with_task(text, language, "t"), wanted);
}

}  // namespace
}  // namespace recuda
