// The oracle's test finds what is wrong with an oracle; that the catalogue's are right shows tests/cli/test_oracles.py.
#include "judge/oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "build/builder.h"
#include "device/vgpu/vgpu.h"
#include "task/catalogue.h"
#include "task/op.h"

namespace recuda {
namespace {

class Oracle : public ::testing::Test {
 protected:
    /// relu2 of the catalogue with a change of its `[tests]`, on small workloads.
    template <typename Change>
    static Task relu2(Change change) {
        Op op = *Catalogue(RECUDA_SOURCE_DIR).op("relu2");
        op.tests = {};
        change(op.tests);
        Task task{.name = "relu2", .op = std::make_shared<const Op>(std::move(op)), .axes = {{"K", 1}, {"N", 264}}};
        for (const int64_t tokens : {1, 8}) {
            task.verify.push_back(task.axes);
            task.verify.back()["T"] = tokens;
        }
        return task;
    }

    std::vector<OracleTrial> tried(const Task& task) {
        const std::unique_ptr<Device> device = make_vgpu();
        return test_oracle(task, *device, *builder_, 5);
    }

    static std::vector<std::string> failed(const std::vector<OracleTrial>& trials) {
        std::vector<std::string> names;
        for (const OracleTrial& trial : trials)
            if (!trial.passed()) names.push_back(trial.change);
        return names;
    }

    TemporaryFolder folder_;
    std::unique_ptr<Builder> builder_ = make_builder(
        {.workers = 2, .cache_folder = folder_.path().string(), .worker_command = {this_program(), "compile-worker"}});
};

TEST_F(Oracle, OfAnElementwiseOpIsRight) {
    const std::vector<OracleTrial> trials = tried(relu2([](OracleTests&) {}));
    EXPECT_EQ(failed(trials), std::vector<std::string>{});
    const auto named = [&](const char* change) {
        const auto found = std::find_if(trials.begin(), trials.end(),
                                        [&](const OracleTrial& trial) { return trial.change == change; });
        return found == trials.end() ? OracleTrial{} : *found;
    };
    EXPECT_GT(named("y: zeros").nearness, 100);
    EXPECT_FALSE(named("y: zeros").accepted);
    EXPECT_EQ(named("y: truncated instead of rounded").criterion, "bias");
    EXPECT_EQ(named("y: state left as it was").cases, 0u) << "nothing is written in place";
    EXPECT_GE(named("correctly rounded").cases, 33u) << "three workloads with all inputs";
    EXPECT_GT(named("correctly rounded").nearness, 0.3);
    EXPECT_LE(named("correctly rounded").nearness, 1);
    EXPECT_GT(named("y: zeros of the other sign").cases, 0u);
}

TEST_F(Oracle, ShowsWhatIsJudgedWrongly) {
    const std::vector<OracleTrial> trials = tried(relu2([](OracleTests& tests) {
        tests.edits = {{"a comment more", false, "positive * positive", "positive * positive /* */"},
                       {"twice as large", true, "v < 0 ? 0 : v", "v < 0 ? 0 : 2 * v"},
                       {"another comment", false, "const float v", "/* */ const float v"}};
        tests.hidden = {"another comment"};
    }));
    EXPECT_EQ(failed(trials), (std::vector<std::string>{"a comment more", "twice as large"}));
}

TEST_F(Oracle, NamesThatStandForNothingAreErrors) {
    EXPECT_THROW(tried(relu2([](OracleTests& tests) { tests.hidden = {"no such change"}; })), Error);
    EXPECT_THROW(tried(relu2([](OracleTests& tests) { tests.edits = {{"none", false, "no such text", ""}}; })), Error);
    EXPECT_THROW(tried(relu2([](OracleTests& tests) { tests.edits = {{"many", false, "v", ""}}; })), Error);
    EXPECT_THROW(tried(relu2([](OracleTests& tests) {
                     tests.sum = {"positive * positive", "SUM", "no_name", "1"};
                 })),
                 Error);
}

TEST_F(Oracle, ADeclarationThatIsNoneIsNamedWithItsLine) {
    const std::string right = read_file(std::filesystem::path(RECUDA_SOURCE_DIR) / "ops/argmax/op.toml");
    const std::string head = right.substr(0, right.find("[tests]"));
    const std::pair<const char*, const char*> rows[] = {{"axes = { W = 3 }", "W"},
                                                        {"axes = { V = 0 }", "positive"},
                                                        {"ranked = { index = \"nothing\" }", "indexes"},
                                                        {"sums = 3", "unknown key"},
                                                        {"sum = { replace = \"x\", term = \"y\" }", "count"},
                                                        {"reject = { odd = { replace = \"x\" } }", "by"}};
    const std::filesystem::path op = folder_.path() / "argmax";
    std::filesystem::create_directories(op);
    for (const auto& [declared, word] : rows) {
        write_atomically(op / "op.toml", head + "[tests]\n" + declared + "\n");
        try {
            (void)read_op(op);
            ADD_FAILURE() << declared;
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
            EXPECT_NE(std::string(error.what()).find("op.toml:"), std::string::npos) << error.what();
        }
    }
}

}  // namespace
}  // namespace recuda
