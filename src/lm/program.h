// A program of typed steps whose instructions and demos are data: predictors by parameter path, read from and written
// to DSPy's own JSON state (dspy 3.3, Module.save).
#pragma once

#include <filesystem>
#include <functional>
#include <string>
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
    explicit Program(std::vector<Predictor> predictors);

    const std::vector<Predictor>& predictors() const { return predictors_; }
    /// Throws Error where there is none.
    const Predictor& predictor(std::string_view path) const;

    /// Asks the model for the outputs of a predictor. An answer that is not in the form is asked again once, with the
    /// answer and what was wrong with it; throws AnswerError when the second is no better, LmError when there is no
    /// answer.
    Prediction predict(std::string_view path, const FieldValues& inputs, LanguageModel& model, const Asking& asking,
                       const std::stop_token& stop) const;

    /// Instructions, descriptions and demos of a saved state. All or nothing: throws Error "FILE: …" for one that is no
    /// state, lacks a predictor, or whose fields are others; unknown predictors are left alone and kept.
    void load(const std::filesystem::path& state);

    /// Writes DSPy's JSON, atomically.
    void save(const std::filesystem::path& state) const;

 private:
    std::vector<Predictor> predictors_;
    std::string unknown_;  // predictors of a loaded state that this program has not, a JSON object
};

}  // namespace recuda
