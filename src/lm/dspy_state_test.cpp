// States of Python's DSPy read and written again, and what is refused.
#include "lm/dspy_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "lm/lm_goldens_test_support.h"

namespace recuda {
namespace {

using nlohmann::ordered_json;
using ::testing::HasSubstr;

Signature plain(const std::vector<std::string>& inputs, const std::string& output) {
    Signature signature{.instructions = "x", .inputs = {}, .outputs = {{.name = output}}};
    for (const std::string& input : inputs) signature.inputs.push_back({.name = input});
    return signature;
}

/// The programs that Python saved as golden files.
Program saved_program() {
    return Program({{"gen.predict", golden_signature(), {}},
                    {"repair", plain({"code", "error_log"}, "fixed_code"), {}},
                    {"many[0]", plain({"a"}, "b"), {}},
                    {"d['k']", plain({"x1", "htmlParser"}, "y"), {}}});
}
Program cot_program() { return Program({{"predict", golden_signature(), {}}}); }

class State : public ::testing::Test {
 protected:
    std::filesystem::path file(const std::string& text) const {
        const std::filesystem::path path = folder_.path() / "program.json";
        write_atomically(path, text);
        return path;
    }
    /// What loading the text into the program says; "" where it loads.
    std::string refusal(Program& program, const std::string& text) const {
        const std::filesystem::path path = file(text);
        try {
            program.load(path);
        } catch (const Error& error) {
            EXPECT_THAT(error.what(), HasSubstr(path.string()));
            return error.what();
        }
        return "";
    }
    std::string saved(const Program& program) const {
        const std::filesystem::path path = folder_.path() / "out/deep/program.json";
        program.save(path);
        return read_file(path);
    }

    TemporaryFolder folder_;
};

TEST_F(State, FilesOfPythonAreReadAndWrittenToTheByte) {
    Program of_modules = saved_program(), cot = cot_program(), flat({{"self", plain({"question"}, "answer"), {}}});
    const std::pair<Program*, const char*> cases[] = {
        {&of_modules, "prog.json"}, {&cot, "cot.json"}, {&flat, "predict.json"}};
    for (const auto& [program, name] : cases) {
        program->load(golden_path(name));
        EXPECT_EQ(saved(*program), read_file(golden_path(name)));
    }
    const Predictor& gen = of_modules.predictor("gen.predict");
    EXPECT_EQ(gen.signature.instructions, golden_signature().instructions);
    EXPECT_EQ(gen.signature.inputs, golden_signature().inputs);
    EXPECT_EQ(gen.signature.outputs, golden_signature().outputs);
    ASSERT_EQ(gen.demos.size(), 3u);
    EXPECT_EQ(gen.demos[2].at("augmented"), true);
    EXPECT_EQ(flat.predictors()[0].signature.instructions, "Given the fields `question`, produce the fields `answer`.");
}

TEST_F(State, ANewStateHasThePythonLayoutAndOurNames) {
    const Program program({{"ask",
                            plain({"error_log"}, "kernel"),
                            {{{"kernel", "k"}, {"error_log", "é\n\x01"}, {"z", {1e-7, -1.5e-5, 1e16}}}}}});
    EXPECT_EQ(saved(program), R"({
  "ask": {
    "traces": [],
    "train": [],
    "demos": [
      {
        "error_log": "é\n\u0001",
        "kernel": "k",
        "z": [
          1e-7,
          -0.000015,
          1e+16
        ]
      }
    ],
    "signature": {
      "instructions": "x",
      "fields": [
        {
          "prefix": "Error Log:",
          "description": "${error_log}"
        },
        {
          "prefix": "Kernel:",
          "description": "${kernel}"
        }
      ]
    },
    "lm": null
  },
  "metadata": {
    "dependency_versions": {},
    "recuda": {
      "signatures": {
        "ask": {
          "inputs": [
            "error_log"
          ],
          "outputs": [
            "kernel"
          ]
        }
      }
    }
  }
}
)");
    Program again({{"ask", plain({"error_log"}, "kernel"), {}}});
    EXPECT_EQ(refusal(again, saved(program)), "");
    EXPECT_EQ(again.predictors()[0].demos, program.predictors()[0].demos);
}

TEST_F(State, NothingOfALoadedFileIsLost) {
    ordered_json document = ordered_json::parse(read_file(golden_path("prog.json")));
    document["repair"]["mine"] = {{"z", 1}, {"a", 1e16}};
    document["repair"]["traces"] = {{{"t", 1}}};
    document["metadata"]["other"] = 5;
    document["a/b~c"] = "not even a predictor";
    Program repair({{"repair", plain({"code", "error_log"}, "fixed_code"), {}}});
    EXPECT_EQ(refusal(repair, document.dump()), "");
    EXPECT_EQ(ordered_json::parse(saved(repair)).dump(), document.dump());
}

TEST_F(State, DeviationsAreTakenAndRefusedAsPythonDoes) {
    const ordered_json good = ordered_json::parse(read_file(golden_path("cot.json")));
    const std::map<std::string, std::function<void(ordered_json&)>> deviations{
        {"missing_lm", [](ordered_json& s) { s["predict"].erase("lm"); }},
        {"missing_traces_train",
         [](ordered_json& s) {
             s["predict"].erase("traces");
             s["predict"].erase("train");
         }},
        {"fewer_fields", [](ordered_json& s) { s["predict"]["signature"]["fields"].erase(10); }},
        {"extra_key_in_predict", [](ordered_json& s) { s["predict"]["more"] = 1; }},
        {"extra_key_in_metadata",
         [](ordered_json& s) {
             s["metadata"]["recuda"] = {{"x", 1}};
         }},
        {"extra_dependency_version_key", [](ordered_json& s) { s["metadata"]["dependency_versions"]["recuda"] = "1"; }},
        {"empty_dependency_versions",
         [](ordered_json& s) { s["metadata"]["dependency_versions"] = ordered_json::object(); }},
        {"no_metadata", [](ordered_json& s) { s.erase("metadata"); }},
        {"extra_toplevel_module", [](ordered_json& s) { s["other"] = s["predict"]; }},
    };
    const nlohmann::json cases = golden("dspy_load_semantics.json");
    for (const auto& [name, result] : cases.items()) {
        ordered_json document = good;
        deviations.at(name)(document);
        Program program = cot_program();
        // Python pairs fields by position and does not look whether they are as many: here they must be.
        const bool loads = result.contains("ok") && name != "fewer_fields";
        EXPECT_EQ(refusal(program, document.dump()).empty(), loads) << name;
    }
}

TEST_F(State, WhatIsNoStateIsRefusedWholeAndNamed) {
    const std::string good = read_file(golden_path("cot.json"));
    const auto with = [&good](const char* pointer, const ordered_json& value) {
        ordered_json document = ordered_json::parse(good);
        document[ordered_json::json_pointer(pointer)] = value;
        return document.dump();
    };
    const std::pair<std::string, const char*> cases[] = {
        {good.substr(0, 200), "this is no JSON"},
        {"", "this is no JSON"},
        {"\xff\xfe", "this is no JSON"},
        {std::string(1 << 20, '['), "nested deeper"},
        {"[]", "the state must be an object"},
        {"{}", "the state has no `metadata`"},
        {with("/predict", 1), "`predict` of the state must be an object"},
        {with("/predict/demos", {{"a", 1}}), "`demos` of predictor `predict` must be an array"},
        {with("/predict/demos/0", "x"), "a demo of predictor `predict` must be an object"},
        {with("/predict/traces", 1), "`traces`"},
        {with("/predict/signature", nullptr), "`signature`"},
        {with("/predict/signature/instructions", 7), "`instructions`"},
        {with("/predict/signature/fields/0", 7), "a field of predictor `predict` must be an object"},
        {with("/predict/signature/fields/0/description", 7), "`description`"},
        {with("/predict/signature/fields/0/prefix", "Reference:"), "\"Reference:\" where `task` must stand"},
        {with("/predict/extended_signature", 1), "before 2.6"},
        {with("/metadata/recuda", {{"signatures", {{"predict", {{"inputs", {"reference", "task"}}}}}}}),
         "other fields here"},
    };
    for (const auto& [text, message] : cases) {
        Program program = cot_program();
        EXPECT_THAT(refusal(program, text), HasSubstr(message));
        EXPECT_TRUE(program.predictors()[0].demos.empty()) << message;
        EXPECT_EQ(ordered_json::parse(saved(program)), ordered_json::parse(saved(cot_program()))) << message;
    }
    Program missing({{"predict", golden_signature(), {}}, {"repair", plain({"a"}, "b"), {}}});
    EXPECT_THAT(refusal(missing, good), HasSubstr("the state has no `repair`"));
    EXPECT_TRUE(missing.predictors()[0].demos.empty());
    EXPECT_THROW(missing.load(folder_.path() / "absent.json"), Error);
}

}  // namespace
}  // namespace recuda
