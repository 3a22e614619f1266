// Ours against the real DSPy, where a Python has it: RECUDA_DSPY_PYTHON, what `make dspy` installs, or python3.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/process.h"
#include "lm/adapter.h"
#include "lm/program.h"

namespace recuda {
namespace {

using nlohmann::json;
using Kind = FieldType::Kind;

const FieldType kText, kWhole{.kind = Kind::integer}, kReal{.kind = Kind::number}, kBoolean{.kind = Kind::boolean};
const FieldType kTexts{.kind = Kind::list, .element = {kText}};

std::vector<Predictor> predictors() {
    const Signature everything{
        .instructions = "    Write it.\n\n      Then\n\tcheck it; é.\n",
        .inputs = {{.name = "task", .description = "what to\n  write"},
                   {.name = "tries", .type = kWhole},
                   {.name = "share", .type = kReal, .at_least = 0.5},
                   {.name = "noted", .type = kTexts}},
        .outputs = {
            {.name = "kind", .type = {.kind = Kind::literal, .literals = {"cuda", "it's", "say \"x\""}}},
            {.name = "only", .type = {.kind = Kind::literal, .literals = {"one"}}},
            {.name = "maybe", .type = {.kind = Kind::optional, .element = {kText}}},
            {.name = "maybeWhole", .type = {.kind = Kind::optional, .element = {kWhole}}},
            {.name = "blocks", .type = kWhole, .at_least = 1, .at_most = 1024},
            {.name = "sure", .type = kBoolean},
            {.name = "speed2x", .type = kReal},
            {.name = "tags", .type = kTexts},
            {.name = "rows", .type = {.kind = Kind::list, .element = {{.kind = Kind::list, .element = {kWhole}}}}},
            {.name = "kernel", .description = "a kernel file"}}};
    const FieldValues complete{{"task", "«a»"},         {"tries", 3},     {"share", 1e-7},   {"noted", json::array()},
                               {"kind", "cuda"},        {"only", "one"},  {"maybe", "x"},    {"maybeWhole", 4},
                               {"blocks", 2},           {"sure", true},   {"speed2x", 1e16}, {"tags", {"é", "b\"c"}},
                               {"rows", {{1}, {2, 3}}}, {"kernel", "k\n"}};
    FieldValues incomplete = complete;
    incomplete["maybe"] = nullptr;
    incomplete.erase("kernel");
    const FieldValues dropped{{"task", "only an input"}};
    const Signature thinking = with_reasoning({.instructions = "Mend it.",
                                               .inputs = {{.name = "kernel"}, {.name = "error_log"}},
                                               .outputs = {{.name = "fixed"}}});
    return {{"propose.predict", everything, {complete, dropped, incomplete}},
            {"repair['cuda'].predict",
             thinking,
             {{{"kernel", {"a", "b\nc"}}, {"error_log", json::array()}, {"fixed", "f"}}}}};
}

FieldValues inputs_of(const std::string& path) {
    if (path == "propose.predict") return {{"task", "  T  "}, {"tries", 0}, {"share", 2.0}, {"noted", {"n"}}};
    return {{"kernel", "k"}};
}

json as_json(const std::vector<Field>& fields) {
    json list = json::array();
    for (const Field& field : fields) {
        json entry{{"name", field.name}, {"type", name(field.type)}, {"description", field.description}};
        const auto bound = [&entry](const char* key, const std::optional<double>& value) {
            if (!value) return;
            if (*value == static_cast<int>(*value))
                entry[key] = static_cast<int>(*value);
            else
                entry[key] = *value;
        };
        bound("ge", field.at_least);
        bound("le", field.at_most);
        list.push_back(std::move(entry));
    }
    return list;
}

/// Answers that both must read alike; `form` is the adapter that DSPy reads it with.
const struct {
    const char *path, *form, *answer;
} kAnswers[] = {
    {"repair['cuda'].predict", "chat",
     "x\n[[ ## reasoning ## ]] r\n\x1c s\n\n  [[ ## extra ## ]]\n[[ ## fixed ## ]]\n```\nf\n```"},
    {"repair['cuda'].predict", "chat", "[[ ## reasoning ## ]]\nr"},
    {"repair['cuda'].predict", "json", R"({"reasoning": "r", "fixed": "f",})"},
    {"repair['cuda'].predict", "json", R"({'reasoning': 'r', 'fixed': 'f'})"},
    {"repair['cuda'].predict", "json", "{\"reasoning\": \"r\", \"fixed\": \"a\nb\"}"},
    {"repair['cuda'].predict", "json", "```json\n{\"reasoning\": \"r\", \"fixed\": \"f\"}\n```"},
    {"repair['cuda'].predict", "json", "Here it is: {\"reasoning\": \"r\", \"fixed\": \"f\"} Done."},
    {"repair['cuda'].predict", "json", R"({reasoning: "r", fixed: "f"})"},
    {"repair['cuda'].predict", "json", R"({"reasoning": null, "fixed": [1, 2.0, true, {"a": "it's"}]})"},
    {"repair['cuda'].predict", "json", R"({"reasoning": "r"})"},
    {"propose.predict", "json",
     R"({"kind": "'cuda'", "only": "one", "maybe": null, "blocks": "7", "sure": "yes", "speed2x": 3, "tags": [], "rows": [["1"]], "kernel": 5})"},
    {"propose.predict", "json",
     R"({"kind": "cuda", "only": "one", "maybeWhole": "None", "blocks": 7.0, "sure": 0, "speed2x": "1e-3", "tags": "['a']", "rows": [], "kernel": "k"})"},
    {"propose.predict", "json",
     R"({"kind": "cuda", "only": "one", "blocks": 7.5, "sure": 0, "speed2x": 1, "tags": [], "rows": [], "kernel": "k"})"},
    {"propose.predict", "json",
     R"({"kind": "cuda", "only": "one", "blocks": 7, "sure": 0, "speed2x": 1, "tags": [1], "rows": [], "kernel": "k"})"},
};

/// Runs the package once for all tests.
class DspyPackage : public ::testing::Test {
 protected:
    static void SetUpTestSuite() {
        folder_ = std::make_unique<TemporaryFolder>();
        json request{{"predictors", json::object()}, {"answers", json::array()}};
        for (const Predictor& p : predictors())
            request["predictors"][p.path] = {{"instructions", p.signature.instructions},
                                             {"inputs", as_json(p.signature.inputs)},
                                             {"outputs", as_json(p.signature.outputs)},
                                             {"demos", p.demos},
                                             {"values", inputs_of(p.path)}};
        for (const auto& a : kAnswers)
            request["answers"].push_back({{"path", a.path}, {"form", a.form}, {"answer", a.answer}});
        write_atomically(folder_->path() / "request.json", request.dump());
        Program(predictors()).save(folder_->path() / "ours.json");
        const std::vector<std::string> command{python(), RECUDA_SOURCE_DIR "/tests/dspy/package.py", folder_->path()};
        result_ =
            run_process(command, {.deadline_s = 120, .environment = {{"DSPY_CACHEDIR", folder_->path() / "cache"}}});
        if (result_.status == 0) response_ = json::parse(read_file(folder_->path() / "response.json"));
    }
    static void TearDownTestSuite() { folder_.reset(); }

    void SetUp() override {
        if (result_.status == 77) GTEST_SKIP() << "the Python package dspy is not installed: make dspy";
        ASSERT_EQ(result_.status, 0) << result_.err;
    }

    static std::string python() {
        if (const char* named = std::getenv("RECUDA_DSPY_PYTHON")) return named;
        const std::filesystem::path installed = RECUDA_SOURCE_DIR "/.deps/dspy/bin/python3";
        return exists(installed) ? installed.string() : "python3";
    }
    static std::string read(const char* name) { return read_file(folder_->path() / name); }

    static inline std::unique_ptr<TemporaryFolder> folder_;
    static inline ProcessResult result_;
    static inline json response_;
};

TEST_F(DspyPackage, MessagesAreTheSameToTheByte) {
    for (const Predictor& p : predictors()) {
        for (const auto& [kind, form] : {std::pair(AdapterKind::chat, "chat"), std::pair(AdapterKind::json, "json")}) {
            const std::vector<Message> ours = format_messages(kind, p.signature, p.demos, inputs_of(p.path));
            const json& theirs = response_.at("messages").at(form).at(p.path);
            ASSERT_EQ(ours.size(), theirs.size());
            for (size_t i = 0; i < ours.size(); ++i) {
                EXPECT_EQ(ours[i].role, theirs[i].at("role"));
                EXPECT_EQ(ours[i].content, theirs[i].at("content").get<std::string>()) << form << " " << i;
            }
        }
    }
}

TEST_F(DspyPackage, AnswersAreReadAlike) {
    const Program program(predictors());
    const json& theirs = response_.at("parsed");
    ASSERT_EQ(theirs.size(), std::size(kAnswers));
    for (size_t i = 0; i < theirs.size(); ++i) {
        json ours;
        try {
            ours["ok"] = parse_answer(program.predictor(kAnswers[i].path).signature, kAnswers[i].answer);
        } catch (const AnswerError& error) {
            ours["error"] = error.what();
        }
        if (theirs[i].contains("ok"))
            EXPECT_EQ(ours, theirs[i]) << kAnswers[i].answer;
        else
            EXPECT_TRUE(ours.contains("error")) << kAnswers[i].answer << ours << theirs[i];
    }
}

TEST_F(DspyPackage, ItsStatesLoadHereAndAreWrittenToTheByte) {
    Program program(predictors());
    program.load(folder_->path() / "python.json");
    for (size_t i = 0; i < program.predictors().size(); ++i) {
        EXPECT_EQ(program.predictors()[i].demos, predictors()[i].demos);
        EXPECT_EQ(program.predictors()[i].signature.outputs, predictors()[i].signature.outputs);
    }
    program.save(folder_->path() / "back.json");
    EXPECT_EQ(read("back.json"), read("python.json"));
}

TEST_F(DspyPackage, OurStatesLoadThere) {
    json ours = json::parse(read("ours.json")), again = json::parse(read("again.json"));
    EXPECT_TRUE(again.at("metadata").at("dependency_versions").contains("dspy"));
    // DSPy cleans instructions when it reads them, and so do our messages; our file has them as they were given.
    ours["propose.predict"]["signature"]["instructions"] = "Write it.\n\nThen\n  check it; é.";
    ours.erase("metadata");
    again.erase("metadata");
    EXPECT_EQ(again, ours);
}

}  // namespace
}  // namespace recuda
