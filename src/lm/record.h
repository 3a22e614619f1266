// The record of a run: prompts/ of its folder, in which every prompt and answer is a text file that anybody can read.
//
//   NNNN.prompt.md   the messages, each below a heading of its role
//   NNNN.answer.md   the answer to the byte; there once there is one
//   NNNN.json        what else is known of the call: docs/formats.md
//
// A question keeps its number: what was asked before a run ended and was not answered is asked again under it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "lm/model.h"

namespace recuda {

/// What a question is known by in records, whatever preset and model answered it.
std::string question_of(const LmRequest& request);

struct RecordKey {
    std::string digest;  // of the request with preset and model
    std::string preset, model;
    uint64_t open_calls = 0;  // what a call counts that a kill left open
};

class Record {
 public:
    /// Reads what the folder holds, which exists. Files that cannot be read are as if they were not there.
    explicit Record(const std::filesystem::path& folder);

    /// The recorded answer to a question: asked under that digest, or under any.
    std::optional<LmResponse> find(const std::string& digest) const;
    std::optional<LmResponse> find_any(const std::string& question) const;

    /// Writes the prompt down; its number. One of the two below follows.
    uint64_t begin(const LmRequest& request, const RecordKey& key);
    void answered(uint64_t number, const LmResponse& response, double seconds);
    void failed(uint64_t number, const LmError& error, double seconds);

    /// What earlier sessions used up: the sums of what the folder held when it was opened.
    uint64_t earlier_calls() const { return earlier_calls_; }
    const Usage& earlier_usage() const { return earlier_usage_; }

    size_t size() const;

 private:
    struct Spending {
        uint64_t calls = 0;
        Usage usage;
    };
    std::filesystem::path path(uint64_t number, const char* ending) const;
    std::optional<LmResponse> answer(uint64_t number) const;
    void read(uint64_t number);
    void finish(uint64_t number, uint64_t calls, const Usage& usage, double seconds, const nlohmann::json& more);

    std::filesystem::path folder_;
    mutable std::mutex mutex_;
    std::map<std::string, uint64_t> by_digest_, by_question_;
    std::map<uint64_t, std::string> facts_;  // of calls under way: JSON
    std::map<uint64_t, Spending> spent_;     // on questions that were asked in vain before
    uint64_t last_ = 0;
    uint64_t earlier_calls_ = 0;
    Usage earlier_usage_;
};

/// Asks `inner` what the record does not answer, and records it. `record` outlives it.
/// A question that is being asked is not asked a second time: whoever wants it too gets that answer.
std::unique_ptr<LanguageModel> make_recorded(std::unique_ptr<LanguageModel> inner, Record& record, RecordKey key);

}  // namespace recuda
