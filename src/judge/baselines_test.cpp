#include "judge/baselines.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "base/process.h"
#include "build/builder.h"
#include "build/cublas_lt_library.h"
#include "build/torch_python.h"
#include "device/limits.h"
#include "device/vgpu/vgpu.h"
#include "judge/judge.h"
#include "judge/reference.h"
#include "judge/session.h"
#include "judge/timed_device_test_support.h"
#include "judge/tuned_baseline.h"
#include "task/catalogue.h"
#include "task/op.h"

namespace recuda {
namespace {

TEST(TunedBaseline, TakesTheFastestRightWayOfEachWorkload) {
    int asked = 0;
    const auto way = [](std::string words, Outcome outcome, double ns) {
        return Way{std::move(words), [=](uint32_t samples) {
                       return Timed{.outcome = outcome, .log = "why", .samples_ns = std::vector<double>(samples, ns)};
                   }};
    };
    const auto tuned = make_tuned_baseline({.name = "t",
                                            .about = "a",
                                            .ways =
                                                [&](const Axes& axes) {
                                                    ++asked;
                                                    if (axes.at("T") == 9) throw Error("no such size");
                                                    if (axes.at("T") == 8)
                                                        return std::vector{way("w", Outcome::wrong, 1)};
                                                    return std::vector{way("slow", Outcome::correct, 30),
                                                                       way("wrong", Outcome::wrong, 10),
                                                                       way("fast", Outcome::correct, 20)};
                                                },
                                            .forget = [] {}});
    for (int turn = 0; turn < 2; ++turn) {
        const Timed timed = tuned->time({{"T", 1}}, 8);
        EXPECT_EQ(timed.outcome, Outcome::correct);
        EXPECT_EQ(timed.samples_ns, std::vector<double>(8, 20));
        EXPECT_EQ(timed.method, "; fast, the fastest of 3 tried");
    }
    EXPECT_EQ(asked, 1);
    EXPECT_EQ(tuned->time({{"T", 8}}, 8).outcome, Outcome::wrong);
    EXPECT_EQ(tuned->time({{"T", 8}}, 8).log, "w: why");
    EXPECT_EQ(tuned->time({{"T", 9}}, 8).log, "no such size");
}

TEST(TunedBaseline, GoesOnBehindAWayThatEndedTheDevice) {
    int calls = 0;
    const auto tuned = make_tuned_baseline(
        {.name = "t",
         .about = "a",
         .ways =
             [&](const Axes&) {
                 return std::vector{
                     Way{"deadly", [&](uint32_t) { return ++calls, Timed{.outcome = Outcome::faulted}; }},
                     Way{"good", [](uint32_t) { return Timed{.samples_ns = {5}}; }}};
             },
         .forget = [] {}});
    EXPECT_EQ(tuned->time({}, 1).outcome, Outcome::faulted);
    EXPECT_EQ(tuned->time({}, 1).outcome, Outcome::correct);
    EXPECT_EQ(calls, 1);
}

TEST(BaselineNames, UnknownAndLaterOnesAreWrongUsage) {
    const auto words = [](std::vector<std::string> names) -> std::string {
        try {
            check_baselines(names);
        } catch (const UsageError& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_EQ(words(baseline_names()), "");
    for (const char* name : {"cublaslt", "torch-compile-graph", "triton"})
        EXPECT_NE(words({"plain", "referense"}).find(name), std::string::npos) << name;
    EXPECT_NE(words({"referense"}).find("did you mean reference"), std::string::npos) << words({"referense"});
    EXPECT_NE(words({"cutlass"}).find("not in this version"), std::string::npos);
}

class BaselinesTest : public ::testing::Test {
 protected:
    /// The library is looked for once a process: it finds an empty file, which nobody opens here.
    static void SetUpTestSuite() {
        const TemporaryFolder cuda;
        make_folder(cuda.path() / "lib64");
        write_atomically(cuda.path() / "lib64/libcublasLt.so.13", "");
        const char* const before = std::getenv("CUDA_HOME");
        const std::string kept = before == nullptr ? "" : before;
        ::setenv("CUDA_HOME", cuda.path().c_str(), 1);
        EXPECT_EQ(cublas_lt().state, Tool::State::ok);
        EXPECT_EQ(cublas_lt().version, "13");
        before == nullptr ? ::unsetenv("CUDA_HOME") : ::setenv("CUDA_HOME", kept.c_str(), 1);
    }

    BaselinesTest()
        : builder_(make_builder({.workers = 2,
                                 .cache_folder = (folder_.path() / "builds").string(),
                                 .worker_command = {this_program(), "compile-worker"}})),
          catalogue_(RECUDA_SOURCE_DIR) {
        write_atomically(folder_.path() / "small.toml", R"(
family = "small"
[linear]
op = "linear"
axes = { N = 24, K = 64 }
verify = { T = [1, 3] }
bench = { T = [1, 4] }
[rmsnorm]
op = "rmsnorm"
axes = { H = 2048 }
scalars = { eps = 1e-5 }
verify = { T = [1] }
bench = { T = [2] }
)");
    }

    virtual Catalogue& catalogue() { return catalogue_; }
    Task task(const std::string& name) {
        return catalogue().task((folder_.path() / "small.toml").string() + "#" + name);
    }

    /// The plain seed judged and proven against these baselines, and what became of them.
    /// With a rival's name, against the same seed under that name, too.
    Evaluation judged(const std::string& name, const std::vector<std::string>& baselines, unsigned algorithms,
                      const std::string& rival = "") {
        const Task one = task(name);
        auto device = std::make_unique<TimedDevice>(make_vgpu(), 100, algorithms);
        device->memory_bytes_per_ns = 1000;  // the libraries' clocks here know nothing of it
        const Candidate candidate =
            candidate_from(one.op->folder / "seeds/plain.cu", std::vector<Axes>{one.verify[0], one.bench[0]},
                           limits_of(device->info()));
        Session session(one, std::move(device), *builder_,
                        {.seed = 7,
                         .baselines = baselines,
                         .fitness_file = folder_.path() / "proofs.json",
                         .proof = {.sessions = 4, .blocks = 2, .block_pairs = 2, .warmup_pairs = 1}});
        session.open();
        warnings_ = session.baselines().warnings();
        record_ = session.baselines().record();
        const auto built = [&] {
            std::vector<Order> orders;
            orders.push_back(session.order(candidate, Depth::whole));
            return std::move(build_all(*builder_, std::move(orders)).front());
        };
        const Evaluation whole = session.judge(candidate, built(), Depth::whole, true, {}).evaluation;
        if (rival.empty()) return session.prove(whole, built(), {1, {}, {}}).value_or(whole);
        return session.prove(whole, built(), {1, {}, {}, Rival{rival, candidate}}, built()).value_or(whole);
    }

    TemporaryFolder folder_;
    std::unique_ptr<Builder> builder_;
    Catalogue catalogue_;
    std::vector<std::string> warnings_;
    Json record_;
};

TEST_F(BaselinesTest, WhatDoesNotApplyIsSaidOnceAndRecorded) {
    const Evaluation evaluation = judged("rmsnorm", {"plain", "cublaslt"}, 4);
    ASSERT_EQ(evaluation.outcome, Outcome::correct) << evaluation.verdict.log;
    ASSERT_EQ(warnings_.size(), 1u);
    EXPECT_EQ(warnings_[0], "no baseline cublaslt: op rmsnorm is no matrix product");
    ASSERT_EQ(record_.size(), 2u);
    EXPECT_EQ(record_[0].at("name"), "plain");
    EXPECT_TRUE(record_[0].at("used"));
    EXPECT_FALSE(record_[1].at("used"));
    EXPECT_EQ(record_[1].at("about"), "op rmsnorm is no matrix product");
    EXPECT_EQ(evaluation.comparisons.size(), 2u) << "over all, and the one workload";
}

TEST_F(BaselinesTest, ARivalIsComparedBesideThem) {
    const Evaluation evaluation = judged("rmsnorm", {"plain"}, 4, "best seed");
    ASSERT_EQ(evaluation.outcome, Outcome::correct) << evaluation.verdict.log;
    ASSERT_EQ(evaluation.comparisons.size(), 4u);
    EXPECT_EQ(evaluation.comparisons[0].baseline, "plain");
    const Comparison& overall = evaluation.comparisons[2];
    EXPECT_EQ(overall.baseline, "best seed");
    EXPECT_TRUE(overall.axes.empty() && overall.proof);
    EXPECT_EQ(overall.outcome, Comparing::equivalent) << "the same kernel";
    EXPECT_NEAR(overall.ratio, 1, 0.05);
    EXPECT_EQ(evaluation.proofs.size(), 2u);
}

TEST_F(BaselinesTest, ALibraryOfMatrixProducts) {
    const Evaluation evaluation = judged("linear", {"cublaslt"}, 4);
    ASSERT_EQ(evaluation.outcome, Outcome::correct) << evaluation.verdict.log;
    ASSERT_EQ(evaluation.comparisons.size(), 3u);
    for (const Comparison& comparison : evaluation.comparisons) EXPECT_TRUE(std::isfinite(comparison.ratio));
    ASSERT_EQ(evaluation.baseline_measurements.size(), 2u);
    const Measurement& measured = evaluation.baseline_measurements[0].measurement;
    EXPECT_DOUBLE_EQ(measured.median_ns, 1200) << "number 2 of 0 to 3: 3 is faster and wrong";
    EXPECT_NE(measured.method.find("algorithm 2, the fastest of 4 tried"), std::string::npos) << measured.method;
    EXPECT_NE(record_[0].at("about").get<std::string>().find("cuBLASLt 0.0.1"), std::string::npos);
}

TEST_F(BaselinesTest, TritonSeedOfAllPoints) {
    if (triton_python() == nullptr) GTEST_SKIP() << "Triton is not installed";
    const Evaluation evaluation = judged("rmsnorm", {"triton"}, 0);
    ASSERT_EQ(evaluation.outcome, Outcome::correct) << evaluation.verdict.log;
    ASSERT_EQ(evaluation.baseline_measurements.size(), 1u) << dump(record_);
    const std::string method = evaluation.baseline_measurements[0].measurement.method;
    EXPECT_NE(method.find("WARPS="), std::string::npos) << method;
    EXPECT_NE(method.find("the fastest of 4 tried"), std::string::npos) << method;
}

/// The baselines in PyTorch, with tests/fixtures/fake_torch in PyTorch's place.
class TorchBaselinesTest : public BaselinesTest {
 protected:
    static void SetUpTestSuite() {
        ::setenv("PYTHONPATH", (std::string(RECUDA_SOURCE_DIR) + "/tests/fixtures/fake_torch").c_str(), 1);
        ::setenv("RECUDA_PYTHON", "python3", 1);
        EXPECT_EQ(torch_python().state, Tool::State::ok) << torch_python().advice;
        EXPECT_EQ(torch_python().version, "0.1+fake");
    }
    static void TearDownTestSuite() {
        ::unsetenv("PYTHONPATH");
        ::unsetenv("RECUDA_PYTHON");
    }
    TorchBaselinesTest() : changed_((folder_.path() / "home").string()) {
        make_folder(folder_.path() / "home/ops");
        for (const std::string op : {"rmsnorm", "linear"})
            std::filesystem::copy(std::filesystem::path(RECUDA_SOURCE_DIR) / "ops" / op,
                                  folder_.path() / "home/ops" / op, std::filesystem::copy_options::recursive);
        set_reference("torch.rmsnorm(x, w, eps)");
    }
    Catalogue& catalogue() override { return changed_; }
    void set_reference(const std::string& y) {
        write_atomically(folder_.path() / "home/ops/rmsnorm/reference.py",
                         "import torch\ndef run(x, w, eps, rounding):\n    return {'y': " + y + "}\n");
    }
    void expect_no_comparison(const std::string& why) {
        const Evaluation evaluation = judged("rmsnorm", {"torch-eager", "plain"}, 0);
        ASSERT_EQ(evaluation.outcome, Outcome::correct) << evaluation.verdict.log;
        ASSERT_EQ(evaluation.comparisons.size(), 3u);
        const Comparison& one = evaluation.comparisons[0];
        EXPECT_EQ(one.baseline, "torch-eager");
        EXPECT_EQ(one.outcome, Comparing::inconclusive);
        EXPECT_TRUE(std::isnan(one.ratio));
        EXPECT_NE(one.evidence.find(why), std::string::npos) << one.evidence;
        EXPECT_EQ(evaluation.comparisons[1].baseline, "plain");
        EXPECT_EQ(evaluation.comparisons[1].outcome, Comparing::equivalent);
    }

    Catalogue changed_;
};

TEST_F(TorchBaselinesTest, EagerAndCompiledAndAsGraphs) {
    const std::vector<std::string> names{"torch-eager", "torch-eager-graph", "torch-compile", "torch-compile-graph"};
    const Evaluation evaluation = judged("rmsnorm", names, 0);
    ASSERT_EQ(evaluation.outcome, Outcome::correct) << evaluation.verdict.log;
    EXPECT_TRUE(warnings_.empty());
    ASSERT_EQ(evaluation.baseline_measurements.size(), 4u) << evaluation.comparisons.at(0).evidence;
    for (size_t i = 0; i < names.size(); ++i) {
        const BaselineMeasurement& one = evaluation.baseline_measurements[i];
        EXPECT_EQ(one.baseline, names[i]);
        EXPECT_EQ(one.measurement.samples_ns.size(), one.candidate_samples_ns.size());
        EXPECT_NEAR(one.measurement.median_ns, i < 2 ? 2000 : 1000, 1e-3);
        EXPECT_NEAR(one.measurement.clock_mhz, 1980, 1e-3);
        EXPECT_NE(one.measurement.method.find(i % 2 == 1 ? "a graph of 20 runs" : "around 20 runs"), std::string::npos)
            << one.measurement.method;
        EXPECT_NE(one.measurement.method.find("cold: "), std::string::npos) << one.measurement.method;
        EXPECT_NE(record_[i].at("about").get<std::string>().find("PyTorch 0.1+fake"), std::string::npos);
    }
}

TEST_F(TorchBaselinesTest, AWrongOneIsNoBaseline) {
    set_reference("torch.rmsnorm(x, w, 10.0)");
    expect_no_comparison("the baseline is wrong: after timing: y");
}

TEST_F(TorchBaselinesTest, OneThatThrowsOrDiesEndsNothingElse) {
    set_reference("undefined");
    expect_no_comparison("NameError: name 'undefined' is not defined");
    set_reference("torch.rmsnorm(x, w, eps)");
    ::setenv("FAKE_TORCH_DIES", "1", 1);
    expect_no_comparison("PyTorch's process ended during time: killed by signal 6");
    ::unsetenv("FAKE_TORCH_DIES");
}

}  // namespace
}  // namespace recuda
