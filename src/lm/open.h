// A preset made into a model that can be asked: the back end, and around it what every call goes through.
//
//   record   prompts/ of the run folder; what a run that is resumed has there is not asked again
//   cache    below the cache folder; never with `replay`, nor for a check
//   again    back-off with jitter, Retry-After, bounded attempts
//   budget   calls, tokens, money, seconds; every HTTP request and program start counts
//   back end one attempt
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "lm/model.h"

namespace recuda {

struct Preset;

/// What a command line says beside a preset; "" and 0 leave things as the preset has them.
struct LmOptions {
    std::string base_url, model;
    std::filesystem::path mailbox;  // the folder of prompts and answers
    double mailbox_wait_s = -1;     // < 0: for ever
    std::filesystem::path replay;   // a run's folder or its prompts/
    uint64_t max_calls = 0, max_tokens = 0;
    double max_cost_usd = 0, max_seconds = 0;  // max_seconds: of one call
    unsigned attempts = 0;                     // of one request; 0: as many as are sensible
    std::filesystem::path record;              // where prompts and answers are kept; "": nowhere
    std::filesystem::path cache;               // "": none
};

/// What was asked so far.
struct Spent {
    uint64_t calls = 0;   // HTTP requests and program starts, retries included
    uint64_t cached = 0;  // requests that a cache or a record answered
    Usage usage;          // of answers that were asked for now
};

class OpenModel : public LanguageModel {
 public:
    virtual Spent spent() const = 0;
    /// The model by its name, for prompts' records and reports: what the preset or the other side says.
    virtual std::string model() const = 0;
};

/// Throws Error for options that the preset's kind cannot use or lacks (a mailbox without a folder).
std::unique_ptr<OpenModel> open_model(const Preset& preset, const LmOptions& options);

}  // namespace recuda
