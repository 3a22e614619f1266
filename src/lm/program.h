// A program of typed steps whose instructions and demos are data: predictors by parameter path, read from and written
// to DSPy's own JSON state (dspy 3.3, Module.save).
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "lm/adapter.h"
#include "lm/model.h"
#include "lm/signature.h"

namespace recuda {

struct Predictor {
    std::string path;  // "propose.predict"
    Signature signature;
    std::vector<FieldValues> demos;
};

/// The outputs of a predictor, and what they cost.
struct Prediction {
    FieldValues values;
    std::string text;  // the answer as it came, the last one where it was asked again
    Usage usage;       // of all calls
};

/// How a predictor is asked.
struct Asking {
    AdapterKind adapter = AdapterKind::chat;
    std::optional<double> temperature;
    uint64_t rollout = 0;
    std::vector<std::string> documents;
    /// Reads what the signature cannot say, such as a kernel file inside a text; throws AnswerError where that fails,
    /// which is asked about like any other fault of form. May be empty.
    std::function<void(const FieldValues&)> accept;
};

class Program {
 public:
    /// The one predictor of path "self" is what dspy.Predict saves on its own: a state without paths.
    explicit Program(std::vector<Predictor> predictors);

    const std::vector<Predictor>& predictors() const { return predictors_; }
    /// Throws Error where there is none.
    const Predictor& predictor(std::string_view path) const;

    /// Asks the model for the outputs of a predictor. An answer that is not in the form is asked again once, with the
    /// answer and what was wrong with it; throws AnswerError when the second is no better, LmError when there is no
    /// answer.
    Prediction predict(std::string_view path, const FieldValues& inputs, LanguageModel& model, const Asking& asking,
                       const std::stop_token& stop) const;

    /// Instructions, descriptions and demos of a saved state. All or nothing: throws Error that names the file for one
    /// that is no state, lacks a predictor, or whose fields are others. What this program does not know (predictors,
    /// `lm`, traces, keys) is left alone and saved again.
    void load(const std::filesystem::path& state);

    /// Writes DSPy's JSON, atomically; the folder is made where it is missing.
    void save(const std::filesystem::path& state) const;

 private:
    std::vector<Predictor> predictors_;
    std::string state_;  // the text it was loaded from, for what stands there beside our predictors; "" where none
};

}  // namespace recuda
