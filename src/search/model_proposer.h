// A language model as a proposer: it is asked to propose, to repair what failed, to improve what is right and to
// combine two, and its answers' kernel files become candidates and arms of the tuner's space.
//
// What it asks follows from the evaluations it is shown and from earlier answers alone. A run that goes on shows it the
// same evaluations in the same order, its questions are the same ones, and the run's record answers them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lm/open.h"
#include "search/policy.h"
#include "search/proposer.h"
#include "search/steps/prompts.h"

namespace recuda {

class LanguageModel;
class Program;
struct Asking;

struct ModelParts {
    const Program& program;
    LanguageModel& model;
    const Task& task;
    Space& space;
    Prompts prompts;
    /// In the place of a proposal's prompt (`--program rlm`); may be empty.
    std::function<FieldValues(const Prompt&, std::span<const Evaluation>, const Asking&, const std::stop_token&)>
        explore{};
    std::function<std::string(const Evaluation&)> source;  // the file of a recorded candidate
    std::function<void(const std::string&)> say{};         // of a call that failed, a line each
    std::function<void(std::string_view)> asking{};        // a step begins; "" when it ended
    std::function<Spent()> spent{};
    std::function<std::string()> name{};  // of the model
};

class ModelProposer : public Proposer {
 public:
    /// Whether something failed that the model is to mend: its turn comes first then.
    virtual bool has_repairs(std::span<const Evaluation> screened) = 0;
    /// Whether it is asked no more, for good or in this start of the run.
    virtual bool is_off() const = 0;
};

/// `propose` throws LmError for a replay that has no answer; other failures are told and end, at worst, the model's
/// part.
std::unique_ptr<ModelProposer> make_model_proposer(ModelParts parts, const Policy& policy);

}  // namespace recuda
