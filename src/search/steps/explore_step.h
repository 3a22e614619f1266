// The explore step of `--program rlm`: instead of one prompt for a proposal, the model works in a session in which the
// task, everything judged so far with its logs and counters, and the documents found lie in variables, and submits
// kernels (lm/explore.h).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lm/program.h"
#include "search/steps/prompts.h"

namespace recuda {

class Evaluator;
class LanguageModel;
class Space;

struct ExploreParts {
    const Program& program;
    LanguageModel& model;
    const Task& task;
    const Space& space;
    Evaluator& evaluator;  // of `check`; what is checked is no candidate of the search
    Documents* documents;  // of `search` and `read`; null: they are not there
    std::function<std::string(const Evaluation&)> source;
    uint64_t seed = 0;
    std::vector<std::string> worker;  // the command that starts a session's process
};

/// The field `kernel`, as a proposal's answer has it. `prompt` is the proposal's. Throws what explore() throws.
FieldValues explore_proposal(const ExploreParts& parts, const Prompt& prompt, std::span<const Evaluation> screened,
                             const Asking& asking, const std::stop_token& stop);

}  // namespace recuda
