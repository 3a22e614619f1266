#include "lm/model.h"

#include <fmt/format.h>

#include <array>

#include "base/digest.h"

namespace recuda {
namespace {

constexpr std::array<std::string_view, 15> kFaults{"unauthorised", "unknown_model", "no_balance",  "bad_request",
                                                   "rate_limited", "server",        "unreachable", "connection",
                                                   "timed_out",    "unreadable",    "budget",      "waiting",
                                                   "no_record",    "stopped",       "not_usable"};

}  // namespace

std::string digest_of(const LmRequest& request, std::string_view preset, std::string_view model) {
    // Every part with its length before it, so that no two requests give the same bytes.
    std::string bytes = "recuda-lm-1";
    const auto append = [&](std::string_view part) { bytes += fmt::format("\n{}:{}", part.size(), part); };
    append(preset);
    append(model);
    append(request.temperature ? fmt::format("{}", *request.temperature) : "");
    append(std::to_string(request.rollout));
    for (const Message& message : request.messages) {
        append(message.role);
        append(message.content);
    }
    return sha256(bytes);
}

Usage& Usage::operator+=(const Usage& other) {
    if (other.tokens() > 0) reported = other.reported && (reported || tokens() == 0);
    input_tokens += other.input_tokens;
    output_tokens += other.output_tokens;
    reasoning_tokens += other.reasoning_tokens;
    cost_usd += other.cost_usd;
    return *this;
}

std::string_view name(LmFault fault) { return kFaults[static_cast<size_t>(fault)]; }

bool LmError::is_passing() const {
    return fault == LmFault::rate_limited || fault == LmFault::server || fault == LmFault::unreachable ||
           fault == LmFault::connection || fault == LmFault::timed_out || fault == LmFault::unreadable;
}

}  // namespace recuda
