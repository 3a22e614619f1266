#include "store/run_folder.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "store/results.h"
#include "store/run_result.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

Candidate candidate(int value) {
    auto file = std::make_shared<const KernelFile>(parse_kernel_file(
        "//! tune A = 1, 2, 3, 4, 5, 6, 7, 8, 9\n//! launch k<<<1, 32>>>(x)\n__global__ void k(float* x) {}\n", "k.cu",
        Language::cuda));
    return make_candidate(std::move(file), {{"A", value}}, Origin::tuner, "k.cu");
}

Evaluation evaluation(const Candidate& candidate) {
    return {.digest = candidate.digest, .task = "t", .tunables = candidate.point, .stage = "screen", .when = utc_now()};
}

class RunFolderTest : public testing::Test {
 protected:
    fs::path path() const { return folder_.path() / "D"; }
    RunFolder open(RunFolder::Open how, const std::string& task = "t") const {
        return RunFolder(path(), how, {.task = task});
    }
    void record(RunFolder& folder, int value) const { folder.record(evaluation(candidate(value)), candidate(value)); }
    std::string refusal(RunFolder::Open how, const std::string& task = "t") const {
        try {
            open(how, task);
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    }
    std::string lines() const { return read_file(path() / "evaluations.jsonl"); }
    TemporaryFolder folder_{"recuda-run-test"};
};

TEST_F(RunFolderTest, keeps_candidates_lines_and_store) {
    {
        RunFolder folder = open(RunFolder::Open::fresh);
        record(folder, 1);
        record(folder, 2);
        EXPECT_EQ(folder.recorded()[1].id, folder.run() + "-2");
        EXPECT_EQ(folder.candidate(folder.recorded()[1]).digest, candidate(2).digest);
        folder.finish("{\"candidates\": 2}");
    }
    EXPECT_EQ(results(path() / "results.duckdb", {}).size(), 2u);
    RunFolder again = open(RunFolder::Open::resume);
    ASSERT_EQ(again.recorded().size(), 2u);
    EXPECT_EQ(again.recorded()[0].digest, candidate(1).digest);
    EXPECT_EQ(again.recorded()[0].origin, Origin::tuner);
    const auto run = nlohmann::json::parse(read_file(path() / "run.json"));
    EXPECT_EQ(run.at("starts").size(), 2u);
    EXPECT_EQ(run.at("run"), again.run());
    EXPECT_FALSE(run.contains("result"));
}

TEST_F(RunFolderTest, a_torn_last_line_is_dropped_on_resume) {
    {
        RunFolder folder = open(RunFolder::Open::fresh);
        record(folder, 1);
    }
    const std::string whole = lines();
    std::ofstream(path() / "evaluations.jsonl", std::ios::app) << whole.substr(0, whole.size() / 2);
    RunFolder folder = open(RunFolder::Open::resume);
    EXPECT_EQ(folder.recorded().size(), 1u);
    EXPECT_EQ(lines(), whole);
}

TEST_F(RunFolderTest, refuses_what_it_cannot_go_on_with_and_leaves_it) {
    {
        RunFolder folder = open(RunFolder::Open::fresh);
        record(folder, 1);
        EXPECT_NE(refusal(RunFolder::Open::resume).find("another run is writing"), std::string::npos);
    }
    std::ofstream(path() / "evaluations.jsonl", std::ios::app) << "{\"torn";
    const std::string before = lines();
    EXPECT_NE(refusal(RunFolder::Open::fresh).find("--resume"), std::string::npos);
    EXPECT_NE(refusal(RunFolder::Open::resume, "other").find("holds a run of t, not of other"), std::string::npos);
    EXPECT_EQ(lines(), before);
    write_atomically(path() / "evaluations.jsonl", "nonsense\n");
    EXPECT_NE(refusal(RunFolder::Open::resume).find("evaluations.jsonl:1"), std::string::npos);
    write_atomically(path() / "run.json", "[1]");
    EXPECT_NE(refusal(RunFolder::Open::resume).find("run.json"), std::string::npos);
    fs::remove(path() / "run.json");
    EXPECT_NE(refusal(RunFolder::Open::resume).find("run.json"), std::string::npos);
}

TEST_F(RunFolderTest, a_missing_folder_is_resumed_afresh_and_a_file_is_refused) {
    EXPECT_TRUE(open(RunFolder::Open::resume).recorded().empty());
    fs::remove_all(path());
    write_atomically(path(), "mine");
    EXPECT_NE(refusal(RunFolder::Open::fresh).find("D"), std::string::npos);
    EXPECT_EQ(read_file(path()), "mine");
}

TEST_F(RunFolderTest, a_changed_candidate_is_not_taken_for_what_was_judged) {
    RunFolder folder = open(RunFolder::Open::fresh);
    record(folder, 1);
    const fs::path file = path() / folder.recorded()[0].file;
    write_atomically(file, read_file(file) + "int changed;\n");
    EXPECT_THROW(folder.candidate(folder.recorded()[0]), Error);
}

TEST_F(RunFolderTest, a_full_disk_gives_one_line_and_no_half_written_one) {
    fs::create_directory(path());
    if (::geteuid() != 0 || ::mount("tmpfs", path().c_str(), "tmpfs", 0, "size=64k") != 0)
        GTEST_SKIP() << "a small file system can be mounted by root alone";
    std::string problem;
    try {
        RunFolder folder = open(RunFolder::Open::fresh);
        for (int value = 1; value < 10; ++value) record(folder, value);
        folder.finish("{}");
    } catch (const Error& error) {
        problem = error.what();
    }
    EXPECT_FALSE(problem.empty());
    EXPECT_EQ(problem.find('\n'), std::string::npos) << problem;
    std::ifstream file(path() / "evaluations.jsonl");
    for (std::string line; std::getline(file, line);) EXPECT_TRUE(nlohmann::json::accept(line));
    ::umount2(path().c_str(), MNT_DETACH);
}

TEST(RunResult, is_the_contracts_object) {
    RunResult result{.run = "r", .task = "t", .out_dir = "D", .preset = "offline", .device_kind = "vgpu"};
    Evaluation wrong{.digest = "1", .outcome = Outcome::wrong},
        screened{.digest = "2", .estimate = 1, .stage = "screen"},
        whole{.digest = "3", .estimate = 2, .stage = "whole"};
    result.evaluations = {wrong, screened, whole};
    sort_best_first(result.evaluations);
    result.best = result.evaluations[0];
    result.stopped_by = StoppedBy::converged;
    const auto json = to_json(result);
    EXPECT_EQ(json.at("best").at("digest"), "3");
    EXPECT_EQ(json.at("best").at("median_ns"), nullptr);
    EXPECT_EQ(json.at("outcomes"), (nlohmann::json{{"correct", 2}, {"wrong", 1}}));
    EXPECT_EQ(json.at("stopped_by"), "converged");
    EXPECT_EQ(result.evaluations[1].digest, "2");
}

}  // namespace
}  // namespace recuda
