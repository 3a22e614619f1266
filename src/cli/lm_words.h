// The options of commands that ask a language model.
#pragma once

#include <string>

#include "cli/command_line.h"
#include "lm/open.h"

namespace recuda {

class LmWords {
 public:
    /// --base-url, --model, --mailbox, --mailbox-wait, --replay, --max-calls, --max-tokens, --max-cost, --max-seconds.
    void declare(CommandLine& line);

    /// After parsing. Throws UsageError for a number that is none. `record` and `cache` are the caller's to fill.
    LmOptions options() const;

 private:
    std::string base_url_, model_, mailbox_, replay_;
    double mailbox_wait_s_ = -1, max_cost_usd_ = 0, max_seconds_ = 0;
    uint64_t max_calls_ = 0, max_tokens_ = 0;
};

}  // namespace recuda
