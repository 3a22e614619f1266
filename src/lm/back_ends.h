// The back ends: one attempt a call. A preset comes with what the command line changes of it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "lm/model.h"
#include "lm/preset.h"

namespace recuda {

/// A back end that can say which model it asks.
class BackEnd : public LanguageModel {
 public:
    /// "" while nobody knows.
    virtual std::string model() const = 0;

    /// The model that is asked where the preset names none, as the other side lists it; "" where there is no list.
    /// Throws LmError.
    virtual std::string listed_model(const std::stop_token&) { return ""; }

    /// Whether its answers say what they cost in money, or cost none.
    virtual bool tells_cost() const { return false; }
};

/// Chat completions of a server with OpenAI's interface.
std::unique_ptr<BackEnd> make_http_model(const Preset& preset);

/// A command-line program of a model: codex, qwen, claude.
std::unique_ptr<BackEnd> make_program_model(const Preset& preset);

/// A folder in which somebody answers NNNN.prompt.md with NNNN.answer.md; awaited for `wait_s` seconds, for ever when
/// negative.
std::unique_ptr<BackEnd> make_mailbox(const std::filesystem::path& folder, double wait_s);

/// The answers of a run's record, given as its folder or its prompts/: what was asked there in the same words, whatever
/// preset and model answered. Throws Error when there is no record.
std::unique_ptr<BackEnd> make_replay(const std::filesystem::path& folder);

}  // namespace recuda
