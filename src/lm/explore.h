// The explore step: a recursive language model (RLM, arXiv 2512.24601). What is too long for a prompt stays outside it
// as named variables of a session; the model sees their sizes and the beginning and end of each, looks into them with
// small programs (lm/explore/session.h; docs/explore.md says what they may do), asks sub-questions of a model that sees
// nothing else, and submits the fields of an answer. Prompts stay bounded however many turns there are and however long
// the variables.
//
// Two predictors: explore.generate_action writes the next program; explore.extract, out of turns, reads the answer from
// what was found so far. The outputs of the second are the fields that submit takes.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "lm/explore/session.h"
#include "lm/program.h"

namespace recuda {

/// The two predictors for answers with these fields, for a Program that has others too.
std::vector<Predictor> explore_predictors(std::vector<Field> answer);

struct ExploreVariable {
    std::string name;      // of Lua: letters, digits, _; none of the functions' names
    nlohmann::json value;  // a text, or a list or an object of such
    std::string meaning;   // one line
};

struct ExploreBounds {
    unsigned turns = 20;
    uint64_t asks = 50;                 // of `ask`, in all
    uint64_t ask_bytes = 60'000;        // of one question
    uint64_t history_bytes = 40'000;    // of what the prompts show of earlier turns
    uint64_t variables_bytes = 24'000;  // of what they show of the variables
    uint64_t preview_bytes = 1'000;     // of one variable's beginning and end
    SandboxLimits sandbox;              // of one program
    double program_seconds = 10;
};

struct ExploreJob {
    std::string question;  // what the answer is wanted for, at most a few thousand bytes
    std::vector<ExploreVariable> variables;
    std::vector<SessionFunction> functions;  // search, read, check …; `ask` and `submit` come with the step
    ExploreBounds bounds;
    uint64_t seed = 0;
    std::vector<std::string> worker_command;  // {this_program(), "explore-worker"}
    /// How the predictors are asked; a sub-question takes temperature and rollout too.
    Asking asking;
    /// Stable names of the documents that functions have shown so far, for the record of each prompt; may be empty.
    std::function<std::vector<std::string>()> documents;
};

struct ExploreTurn {
    std::string reasoning, code, output, error;
};

struct Explored {
    FieldValues values;      // the answer's fields, checked against their types
    bool submitted = false;  // else extracted when the turns were over
    std::vector<ExploreTurn> turns;
    uint64_t asks = 0;  // sub-questions
    Usage usage;        // of all calls, sub-questions included
};

/// Throws Error when there is no session or no answer can be read (AnswerError), LmError when the model gives none.
/// What programs do is no exception: it is in the turns.
Explored explore(const ExploreJob& job, const Program& program, LanguageModel& model, const std::stop_token& stop);

}  // namespace recuda
