// What calls may cost, and what they cost so far. No call starts once a budget is spent; one that is under way is not
// cut off by it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "lm/model.h"
#include "lm/open.h"

namespace recuda {

struct Limits {
    uint64_t calls = 0, tokens = 0;  // 0: none
    double cost_usd = 0;             // 0: none
};

/// Prices of a million tokens; none where nobody said.
struct Prices {
    std::optional<double> input_usd, output_usd;
};

class Budget {
 public:
    /// `earlier` is what former sessions of the same run used up: it counts against the limits.
    Budget(const Limits& limits, const Prices& prices, const Spent& earlier);

    /// Counts a call that is about to start. Throws LmError: `budget`, or what ended all calls.
    void begin();

    /// Takes back a call whose question stays open: whoever asks it again counts it.
    void take_back();

    /// What a call used up, with its price where the other side told none.
    Usage add(Usage usage);

    /// Ends all calls that come: they fail as this one did.
    void close(const LmError& error);

    Spent spent() const;

 private:
    const Limits limits_;
    const Prices prices_;
    const Spent earlier_;
    mutable std::mutex mutex_;
    Spent spent_;
    std::optional<LmError> closed_;
};

/// One attempt of `inner` a call, counted. Where nobody reports tokens they are estimated by length. After a failure
/// that every later call shares (no access, no such model, an empty account, a missing program) nothing is asked any
/// more.
std::unique_ptr<LanguageModel> make_counted(std::unique_ptr<LanguageModel> inner, Budget& budget);

}  // namespace recuda
