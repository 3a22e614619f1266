#include "lm/budget.h"

namespace recuda {
namespace {

/// About four bytes of English or C++ are a token of the tokenizers in use.
constexpr uint64_t kBytesPerToken = 4;

uint64_t estimated_tokens(uint64_t bytes) { return (bytes + kBytesPerToken - 1) / kBytesPerToken; }

Usage estimate(const LmRequest& request, const LmResponse& response) {
    uint64_t bytes = 0;
    for (const Message& message : request.messages) bytes += message.content.size();
    Usage usage = response.usage;
    usage.input_tokens = estimated_tokens(bytes);
    usage.output_tokens = estimated_tokens(response.text.size() + response.reasoning.size());
    usage.reasoning_tokens = estimated_tokens(response.reasoning.size());
    return usage;
}

bool is_shared_by_all(LmFault fault) {
    return fault == LmFault::unauthorised || fault == LmFault::unknown_model || fault == LmFault::no_balance ||
           fault == LmFault::not_usable;
}

class Counted final : public LanguageModel {
 public:
    Counted(std::unique_ptr<LanguageModel> inner, Budget& budget) : inner_(std::move(inner)), budget_(budget) {}

    LmResponse complete(const LmRequest& request, const std::stop_token& stop) override {
        if (stop.stop_requested()) throw LmError(LmFault::stopped, "the call was ended before it began");
        budget_.begin();
        try {
            LmResponse response = inner_->complete(request, stop);
            response.usage = budget_.add(response.usage.reported ? response.usage : estimate(request, response));
            response.calls = 1;
            return response;
        } catch (LmError& error) {
            if (error.open) {
                budget_.take_back();
                throw;
            }
            error.usage = budget_.add(error.usage);
            error.calls = 1;
            if (is_shared_by_all(error.fault)) budget_.close(error);
            throw;
        }
    }

 private:
    std::unique_ptr<LanguageModel> inner_;
    Budget& budget_;
};

}  // namespace

Budget::Budget(const Limits& limits, const Prices& prices, const Spent& earlier)
    : limits_(limits), prices_(prices), earlier_(earlier) {}

void Budget::begin() {
    const std::lock_guard lock(mutex_);
    if (closed_) throw LmError(*closed_);
    const uint64_t tokens = earlier_.usage.tokens() + spent_.usage.tokens();
    const double cost = earlier_.usage.cost_usd + spent_.usage.cost_usd;
    if (limits_.calls > 0 && earlier_.calls + spent_.calls >= limits_.calls)
        throw LmError(LmFault::budget, "all {} calls of --max-calls are made", limits_.calls);
    if (limits_.tokens > 0 && tokens >= limits_.tokens)
        throw LmError(LmFault::budget, "{} of {} tokens of --max-tokens are used up", tokens, limits_.tokens);
    if (limits_.cost_usd > 0 && cost >= limits_.cost_usd)
        throw LmError(LmFault::budget, "{:.4g} of {:.4g} USD of --max-cost are spent", cost, limits_.cost_usd);
    ++spent_.calls;
}

void Budget::take_back() {
    const std::lock_guard lock(mutex_);
    --spent_.calls;
}

Usage Budget::add(Usage usage) {
    const std::lock_guard lock(mutex_);
    if (usage.cost_usd == 0)
        usage.cost_usd = (static_cast<double>(usage.input_tokens) * prices_.input_usd.value_or(0) +
                          static_cast<double>(usage.output_tokens) * prices_.output_usd.value_or(0)) /
                         1e6;
    spent_.usage += usage;
    return usage;
}

void Budget::close(const LmError& error) {
    const std::lock_guard lock(mutex_);
    closed_ = error;
    closed_->usage = {};
    closed_->calls = 0;
}

Spent Budget::spent() const {
    const std::lock_guard lock(mutex_);
    return spent_;
}

std::unique_ptr<LanguageModel> make_counted(std::unique_ptr<LanguageModel> inner, Budget& budget) {
    return std::make_unique<Counted>(std::move(inner), budget);
}

}  // namespace recuda
