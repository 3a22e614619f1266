// A language model: messages in, text out. What answers may be a server, a program, a person at a mailbox or a record
// of earlier answers; whoever asks sees none of that.
//
// Back ends make one attempt a call. What stands around them (again.h, budget.h, cache.h, record.h) is a LanguageModel
// too, so a stack reads from the outside in: record, cache, try again, count, ask.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace recuda {

struct Message {
    std::string role;  // "system", "user", "assistant"
    std::string content;

    bool operator==(const Message&) const = default;
};

struct LmRequest {
    std::vector<Message> messages;
    std::optional<double> temperature;  // left to the model where there is none, and where it takes none
    uint64_t rollout = 0;               // asks for another answer to the same messages: part of the request's digest

    // For the record alone, and no part of the digest.
    std::string step;                    // "propose.predict"
    std::vector<std::string> documents;  // stable names of the retrieved documents that the messages show
};

/// What a request is known by in caches and records: SHA-256 over preset, model, temperature, rollout and messages. Not
/// over a URL, nor over what `step` and `documents` say. `model` is "" where the preset leaves it to the other side.
std::string digest_of(const LmRequest& request, std::string_view preset, std::string_view model);

struct Usage {
    uint64_t input_tokens = 0, output_tokens = 0;  // as reported; output includes reasoning
    uint64_t reasoning_tokens = 0;                 // of the output
    double cost_usd = 0;                           // as reported, else by the preset's prices, else 0
    bool reported = false;                         // false: nobody counted, the numbers are estimates by length

    uint64_t tokens() const { return input_tokens + output_tokens; }
    Usage& operator+=(const Usage& other);
};

struct LmResponse {
    std::string text;       // UTF-8; what is no UTF-8 is replaced
    std::string reasoning;  // what the model showed of its thinking, "" where it shows none
    std::string finish;     // "stop", "length" …, "" where unknown
    std::string model;      // as the other side names itself
    Usage usage;
    bool cached = false;  // from a cache or a record: nothing was asked, and `usage` is nothing
    uint64_t calls = 0;   // HTTP requests and program starts that it took
};

enum class LmFault {
    unauthorised,   // 401, 403, not logged in
    unknown_model,  // no such model
    no_balance,     // the account is empty
    bad_request,    // the other side does not understand or does not want it (content filter, too long)
    rate_limited,   // 429
    server,         // 5xx
    unreachable,    // nobody is there: refused, not resolved
    connection,     // cut
    timed_out,      // took longer than it may
    unreadable,     // answered, but with nothing that is an answer
    budget,         // no call, token or money is left
    waiting,        // the mailbox's answer has not come in its time
    no_record,      // a replay has no answer to this
    stopped,        // the stop token was requested
    not_usable      // program missing, output of an unknown form
};
std::string_view name(LmFault fault);

/// A call that gave no answer. The message names the status and never holds a key.
class LmError : public Error {
 public:
    template <typename... Args>
    LmError(LmFault fault, fmt::format_string<Args...> format, Args&&... args)
        : Error(format, std::forward<Args>(args)...), fault(fault) {}

    LmFault fault;
    int status = 0;                       // of HTTP, 0 where there is none
    std::optional<double> retry_after_s;  // what the other side asked for
    Usage usage;                          // what the attempts cost all the same, where that was reported
    uint64_t calls = 0;                   // as in LmResponse
    bool open = false;                    // the question awaits its answer still: asking it again is the same call

    /// Whether another attempt may fare better: rate_limited, server, unreachable, connection, timed_out,
    /// unreadable.
    bool is_passing() const;
};

class LanguageModel {
 public:
    virtual ~LanguageModel() = default;

    /// Throws LmError. May be called from several threads.
    virtual LmResponse complete(const LmRequest& request, const std::stop_token& stop) = 0;
};

}  // namespace recuda
