#include "cli/lm_words.h"

#include <cmath>

#include "base/error.h"

namespace recuda {

void LmWords::declare(CommandLine& line) {
    line.option("--base-url", "URL", base_url_, "Ask the server there instead of the preset's");
    line.option("--model", "M", model_, "Ask this model instead of the preset's");
    line.option("--mailbox", "DIR", mailbox_, "With the preset mailbox: where prompts and answers lie");
    line.option("--mailbox-wait", "S", mailbox_wait_s_,
                "With the preset mailbox: seconds to wait for an answer (for ever)");
    line.option("--replay", "DIR", replay_, "With the preset replay: the folder of the run whose answers are taken");
    line.option("--max-calls", "N", max_calls_, "Requests or program starts at most, retries included (no bound)");
    line.option("--max-tokens", "N", max_tokens_, "No call starts once as many tokens are used up (no bound)");
    line.option("--max-cost", "USD", max_cost_usd_, "No call starts once as much money is spent (no bound)");
    line.option("--max-seconds", "S", max_seconds_, "Seconds that one call may take (the preset says)");
}

LmOptions LmWords::options() const {
    if (!(max_cost_usd_ >= 0) || std::isinf(max_cost_usd_)) throw UsageError("--max-cost takes an amount in USD");
    if (!(max_seconds_ >= 0) || std::isinf(max_seconds_)) throw UsageError("--max-seconds takes seconds");
    if (std::isnan(mailbox_wait_s_)) throw UsageError("--mailbox-wait takes seconds");
    LmOptions options{.base_url = base_url_, .model = model_, .mailbox = mailbox_, .replay = replay_};
    options.mailbox_wait_s = mailbox_wait_s_;
    options.max_calls = max_calls_;
    options.max_tokens = max_tokens_;
    options.max_cost_usd = max_cost_usd_;
    options.max_seconds = max_seconds_;
    return options;
}

}  // namespace recuda
