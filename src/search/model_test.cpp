// A search with a scripted language model and a scripted judge.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file.h"
#include "lm/program.h"
#include "lm/scripted.h"
#include "search/mixer.h"
#include "search/model_proposer.h"
#include "search/search.h"
#include "search/search_test_support.h"
#include "search/space.h"
#include "search/steps/program.h"
#include "store/run_folder.h"

namespace recuda {
namespace {

/// A kernel of a model's that is found again by its name.
std::string kernel(const std::string& name, const std::string& directives = "") {
    return "//! task test_copy\n//! idea " + name + "\n" + directives + "//! launch " + name +
           "<<<T, 32>>>(x, y)\nextern \"C\" __global__ void " + name + "(const float* x, float* y) { int " + name +
           "; }\n";
}

std::string answer(const std::string& kernels) {
    return "[[ ## reasoning ## ]]\nbecause\n\n[[ ## kernel ## ]]\n" + kernels + "\n\n[[ ## completed ## ]]";
}

std::string answer_of(const std::string& name) { return answer("```cuda\n" + kernel(name) + "```"); }

class ModelTest : public testing::Test {
 protected:
    ModelTest() {
        auto op = std::make_shared<Op>(*task_.op);
        op->folder = folder_.path();
        task_.op = op;
        write_atomically(folder_.path() / "reference.cu", "// the reference\n");
        judge_.outcome_of = [](const Candidate& candidate) -> std::optional<Outcome> {
            if (candidate.file->text.find("broken") != std::string::npos) return Outcome::build_failed;
            return std::nullopt;
        };
        judge_.log = "kernel.cu(4): error: identifier \"gizmo\" is undefined\n";
    }

    RunResult run(const std::string& out, LanguageModel& model, SearchOptions options,
                  RunFolder::Open how = RunFolder::Open::fresh, const std::stop_token& stop = {}) {
        Space space(task_, seeds(), workloads_of(task_, false), judge_.limits(), options.seed);
        const auto tuner = make_tuner(space, options.num_candidates);
        RunFolder folder(folder_.path() / out, how,
                         {.task = task_.name, .preset = "scripted", .device = "vgpu", .asked = shown(options)});
        const Program program = kernel_search_program();
        policy_.repair_attempts = options.repair_attempts;
        const auto proposer =
            make_model_proposer({.program = program,
                                 .model = model,
                                 .task = task_,
                                 .space = space,
                                 .prompts = Prompts({.task = task_, .device = "a device", .documents = nullptr}),
                                 .source = [&](const Evaluation& one) { return folder.candidate(one).file->text; },
                                 .say = [this](const std::string& words) { said_.push_back(words); }},
                                policy_);
        const auto mixer = make_mixer({.tuner = *tuner, .model = proposer.get()}, policy_, options.num_candidates);
        return search({judge_, *mixer, folder}, options, stop);
    }

    TemporaryFolder folder_{"recuda-model-test"};
    Task task_ = small_task();
    ScriptedJudge judge_;
    Policy policy_;
    std::vector<std::string> said_;
};

const Evaluation* made_by(const RunResult& result, const std::string& step) {
    for (const Evaluation& one : result.evaluations)
        if (one.step == step) return &one;
    return nullptr;
}

size_t of_model(const RunResult& result) {
    return static_cast<size_t>(std::count_if(result.evaluations.begin(), result.evaluations.end(),
                                             [](const Evaluation& one) { return one.origin == Origin::model; }));
}

TEST_F(ModelTest, an_answer_becomes_a_candidate_whatever_the_number_is) {
    for (const size_t count : {1, 2, 6}) {
        ScriptedModel model([](const LmRequest&) { return answer_of("fine"); });
        const RunResult result = run("D" + std::to_string(count), model, {.num_candidates = count});
        EXPECT_EQ(result.evaluations.size(), count);
        EXPECT_EQ(of_model(result), 1u);
        const Evaluation* made = made_by(result, "propose");
        ASSERT_NE(made, nullptr);
        EXPECT_EQ(made->outcome, Outcome::correct);
    }
}

TEST_F(ModelTest, a_failure_comes_back_with_its_message_and_line_and_is_repaired) {
    ScriptedModel model(
        [](const LmRequest& request) { return answer_of(request.step == kRepair ? "mended" : "broken"); });
    const RunResult result = run("D", model, {.num_candidates = 6});
    const Evaluation* repaired = made_by(result, "repair");
    ASSERT_NE(repaired, nullptr);
    EXPECT_EQ(repaired->outcome, Outcome::correct);
    EXPECT_EQ(repaired->parent, made_by(result, "propose")->digest);
    const std::string& asked = model.asked().at(1).messages.back().content;
    EXPECT_NE(asked.find("identifier \"gizmo\" is undefined"), std::string::npos);
    EXPECT_NE(asked.find(">    4 | "), std::string::npos) << asked;
    EXPECT_NE(asked.find("void broken"), std::string::npos);
}

TEST_F(ModelTest, a_chain_is_repaired_so_often_and_no_more) {
    for (const unsigned attempts : {0u, 3u}) {
        size_t turn = 0, repairs = 0;
        ScriptedModel model([&](const LmRequest& request) {
            repairs += request.step == kRepair ? 1 : 0;
            if (request.step != kRepair && turn > 0) return answer_of("fine");
            return answer_of("broken" + std::to_string(turn++));
        });
        const RunResult result =
            run("D" + std::to_string(attempts), model, {.num_candidates = 12, .repair_attempts = attempts});
        EXPECT_EQ(repairs, attempts);
        EXPECT_EQ(std::count_if(result.evaluations.begin(), result.evaluations.end(),
                                [](const Evaluation& one) {
                                    return one.origin == Origin::model && one.outcome == Outcome::build_failed;
                                }),
                  1 + attempts);
    }
}

TEST_F(ModelTest, the_same_kernel_is_judged_once_and_asked_for_a_few_times) {
    size_t turn = 0;
    ScriptedModel model([&](const LmRequest&) {
        return answer("```cuda\n" + kernel("fine") + "\n// version " + std::to_string(turn++) + "\n```");
    });
    const RunResult result = run("D", model, {.num_candidates = 15});
    EXPECT_EQ(of_model(result), 1u);
    EXPECT_EQ(result.evaluations.size(), 15u) << "the tuner has the rest";
    EXPECT_EQ(model.asked().size(), 1 + policy_.futile_answers);
    ASSERT_TRUE(result.model);
    EXPECT_EQ(result.model->off, "its last 3 answers held nothing new");
}

TEST_F(ModelTest, several_kernels_and_tunables_in_one_answer) {
    ScriptedModel model([](const LmRequest&) {
        return answer("First this.\n```cuda\n" + kernel("one", "//! tune A = 4, 8\n//! tune B = 8\n") +
                      "```\nA plan:\n```\nno kernel\n```\nAnd this.\n```\n" + kernel("two") + "```\nBye.");
    });
    const RunResult result = run("D", model, {.num_candidates = 24});
    EXPECT_EQ(of_model(result), 2u);
    const auto tuned = std::find_if(result.evaluations.begin(), result.evaluations.end(), [](const Evaluation& one) {
        return one.tunables == Point{{"A", 8}, {"B", 8}} && one.parent.size() == 64;
    });
    ASSERT_NE(tuned, result.evaluations.end()) << "the tuner takes the other point";
    EXPECT_EQ(tuned->origin, Origin::tuner);
    EXPECT_EQ(tuned->step, "tune");
}

TEST_F(ModelTest, what_is_no_kernel_file_for_the_task_comes_back_with_what_is_wrong) {
    const std::tuple<std::string, std::string> cases[] = {
        {"//! task other\n//! launch k<<<1, 1>>>(x, y)\nvoid k() {}\n", "written for the task other"},
        {"//! idea nothing\nint x;\n", "no launch directive"},
        {"//! launch k<<<1, 1>>>(nobody)\nvoid k() {}\n", "unknown name nobody"},
        {"//! launch k<<<1, 1>>>(x\n", "kernel.cu:1:"},
        {"//! uses ../../etc/passwd\n//! launch k<<<1, 1>>>(x, y)\nvoid k() {}\n", "kernel.cu:1:"},
        {std::string("//! launch k<<<1, 1>>>(x, y)\nvoid\0k() {}\n", 41), "zero bytes"}};
    for (size_t i = 0; i < std::size(cases); ++i) {
        const auto& [file, wanted] = cases[i];
        std::vector<std::string> repairs;
        ScriptedModel model([&, &file = file](const LmRequest& request) {
            if (request.step == kRepair) repairs.push_back(request.messages.back().content);
            return request.step == kRepair ? answer_of("fine") : answer("```cuda\n" + file + "```");
        });
        const RunResult result = run("D" + std::to_string(i), model, {.num_candidates = 4});
        ASSERT_FALSE(repairs.empty()) << wanted;
        EXPECT_NE(repairs[0].find(wanted), std::string::npos) << repairs[0];
        EXPECT_EQ(of_model(result), 1u);
    }
}

TEST_F(ModelTest, a_faulty_model_leaves_the_run_its_seeds) {
    using enum LmFault;
    const std::tuple<LmFault, size_t> cases[] = {{unauthorised, 1}, {budget, 1}, {bad_request, 3}, {server, 3}};
    for (const auto& [fault, calls] : cases) {
        said_.clear();
        ScriptedModel model([&, fault = fault](const LmRequest&) -> std::string {
            throw LmError(fault, "status 4711 of {}", name(fault));
        });
        const RunResult result = run("D" + std::string(name(fault)), model, {.num_candidates = 5});
        EXPECT_EQ(model.asked().size(), calls) << name(fault);
        EXPECT_EQ(result.evaluations.size(), 5u);
        EXPECT_TRUE(result.best);
        EXPECT_EQ(result.stopped_by, StoppedBy::candidates);
        EXPECT_EQ(said_.size(), calls);
        EXPECT_NE(said_.back().find("status 4711"), std::string::npos);
    }
}

TEST_F(ModelTest, a_budget_ends_the_run_only_when_nothing_else_is_left) {
    ScriptedModel model([](const LmRequest&) -> std::string { throw LmError(LmFault::budget, "nothing left"); });
    EXPECT_EQ(run("D", model, {.num_candidates = 500}).stopped_by, StoppedBy::budget);
}

TEST_F(ModelTest, an_awaited_answer_ends_the_run_and_a_resumed_one_takes_it) {
    bool is_there = false;
    ScriptedModel model([&](const LmRequest&) {
        if (!is_there) throw LmError(LmFault::waiting, "no answer yet");
        return answer_of("fine");
    });
    const RunResult waiting = run("D", model, {.num_candidates = 6});
    EXPECT_EQ(waiting.stopped_by, StoppedBy::waiting);
    EXPECT_TRUE(waiting.best);
    is_there = true;
    const RunResult resumed = run("D", model, {.num_candidates = 6}, RunFolder::Open::resume);
    EXPECT_EQ(resumed.stopped_by, StoppedBy::candidates);
    EXPECT_EQ(of_model(resumed), 1u);
    EXPECT_EQ(model.asked()[0].messages, model.asked()[1].messages);
}

TEST_F(ModelTest, a_replay_without_an_answer_ends_the_run) {
    ScriptedModel model(
        [](const LmRequest&) -> std::string { throw LmError(LmFault::no_record, "no recorded answer"); });
    EXPECT_THROW(run("D", model, {.num_candidates = 3}), LmError);
}

TEST_F(ModelTest, a_resumed_run_asks_the_same_questions) {
    const auto script = [](const LmRequest& request) {
        static const std::vector<std::string> names{"broken", "fine", "good", "better"};
        const std::string& text = request.messages.back().content;
        const auto next = std::find_if(names.begin(), names.end(), [&](const std::string& one) {
            return text.find("idea " + one) == std::string::npos && text.find(") " + one + ":") == std::string::npos &&
                   text.find(") " + one + ";") == std::string::npos;
        });
        return answer_of(next == names.end() ? "last" : *next);
    };
    ScriptedModel whole(script);
    const RunResult undisturbed = run("U", whole, {.num_candidates = 10, .seed = 3});
    ASSERT_GE(whole.asked().size(), 4u);
    for (const int at : {1, 4, 9}) {
        const std::string out = "D" + std::to_string(at);
        std::stop_source stop;
        const int begun = judge_.calls;
        judge_.before = [&](int calls) {
            if (calls - begun == at) stop.request_stop();
        };
        ScriptedModel first(script), second(script);
        run(out, first, {.num_candidates = 10, .seed = 3}, RunFolder::Open::fresh, stop.get_token());
        judge_.before = nullptr;
        const RunResult resumed = run(out, second, {.num_candidates = 10, .seed = 3}, RunFolder::Open::resume);
        EXPECT_EQ(resumed.best->digest, undisturbed.best->digest);
        ASSERT_EQ(second.asked().size(), whole.asked().size()) << at;
        for (size_t i = 0; i < whole.asked().size(); ++i) {
            EXPECT_EQ(second.asked()[i].messages, whole.asked()[i].messages) << "question " << i;
            EXPECT_EQ(second.asked()[i].rollout, whole.asked()[i].rollout);
        }
    }
}

TEST_F(ModelTest, improves_and_combines_what_is_right_and_tells_what_each_step_gained) {
    size_t turn = 0;
    judge_.cost_of = [](const Candidate& candidate) {
        const std::string& idea = candidate.file->idea;
        return idea.starts_with("m") ? 100.0 - std::stod(idea.substr(1)) : 200.0;
    };
    ScriptedModel model([&](const LmRequest&) { return answer_of("m" + std::to_string(turn++)); });
    const RunResult result = run("D", model, {.num_candidates = 12});
    std::set<std::string> steps;
    for (const LmRequest& request : model.asked()) steps.insert(request.step);
    EXPECT_EQ(steps, (std::set<std::string>{kPropose, kImprove, kCombine}));
    ASSERT_TRUE(result.model && result.model->against_seed);
    EXPECT_NEAR(result.model->against_seed->ratio, 200 / (100.0 - static_cast<double>(turn - 1)), 1e-9);
    EXPECT_FALSE(result.model->against_seed->low);
    double gain = 1;
    for (const StepGain& step : result.model->steps) gain *= step.gain;
    EXPECT_NEAR(gain, result.model->against_seed->ratio, 1e-9) << "the steps' gains make the whole";
    const auto json = to_json(result).at("model");
    EXPECT_EQ(json.at("against_seed").at("model_digest"), result.best->digest);
}

TEST_F(ModelTest, a_winner_is_proven_against_the_other_side) {
    for (const double cost : {100.0, 300.0}) {
        judge_.has_clock = true;
        judge_.cost_of = [cost](const Candidate& candidate) { return candidate.origin == Origin::model ? cost : 200; };
        ScriptedModel model([](const LmRequest&) { return answer_of("mine"); });
        judge_.rivals.clear();
        run("D" + std::to_string(static_cast<int>(cost)), model, {.num_candidates = 3});
        // The scripted final puts the slowest first.
        EXPECT_EQ(judge_.rivals, (std::vector<std::string>{cost > 200 ? "best seed" : "best of the model"}));
    }
}

TEST_F(ModelTest, a_question_that_got_no_answer_is_asked_again_as_it_was) {
    size_t turn = 0;
    ScriptedModel model([&](const LmRequest&) {
        if (turn++ < 2) throw LmError(LmFault::server, "status 500");
        return answer_of("fine");
    });
    EXPECT_EQ(of_model(run("D", model, {.num_candidates = 4})), 1u);
    for (size_t i = 1; i < 3; ++i) {
        EXPECT_EQ(model.asked().at(i).messages, model.asked()[0].messages);
        EXPECT_EQ(model.asked()[i].rollout, 0u);
    }
}

TEST_F(ModelTest, a_time_limit_ends_a_call_and_leaves_time_for_a_seed) {
    class Hanging final : public LanguageModel {
        LmResponse complete(const LmRequest&, const std::stop_token& stop) override {
            while (!stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
            throw LmError(LmFault::stopped, "stopped");
        }
    } model;
    const RunResult result = run("D", model, {.num_candidates = 1, .time_limit_s = 0.8});
    EXPECT_TRUE(result.best);
}

}  // namespace
}  // namespace recuda
