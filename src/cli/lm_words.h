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
    double mailbox_wait_s_ = -1;
    std::optional<std::string> max_calls_, max_tokens_, max_cost_, max_seconds_;
};

}  // namespace recuda
