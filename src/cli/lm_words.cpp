#include "cli/lm_words.h"

#include <charconv>
#include <cmath>
#include <limits>

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
    line.option("--max-cost", "USD", max_cost_, "No call starts once as much money is spent (no bound)");
    line.option("--max-seconds", "S", max_seconds_, "Seconds that one call may take (the preset says)");
}

namespace {

/// A bound that was given, 0 where none was: a bound of nothing, or of less, would be none.
template <typename Number>
Number bound(const char* option, const std::optional<std::string>& given, std::string_view what) {
    if (!given) return 0;
    Number number = 0;
    const char* end = given->data() + given->size();
    const auto [rest, problem] = std::from_chars(given->data(), end, number);
    if (problem != std::errc() || rest != end || !(number > 0) || number > std::numeric_limits<Number>::max() / 2)
        throw UsageError("{} takes {} above 0; what is left out has no bound", option, what);
    return number;
}

}  // namespace

LmOptions LmWords::options() const {
    if (std::isnan(mailbox_wait_s_)) throw UsageError("--mailbox-wait takes seconds");
    LmOptions options{.base_url = base_url_, .model = model_, .mailbox = mailbox_, .replay = replay_};
    options.mailbox_wait_s = mailbox_wait_s_;
    options.max_calls = bound<uint64_t>("--max-calls", max_calls_, "a whole number");
    options.max_tokens = bound<uint64_t>("--max-tokens", max_tokens_, "a whole number");
    options.max_cost_usd = bound<double>("--max-cost", max_cost_, "an amount in USD");
    options.max_seconds = bound<double>("--max-seconds", max_seconds_, "seconds");
    return options;
}

}  // namespace recuda
