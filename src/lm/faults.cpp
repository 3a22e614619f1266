#include "lm/faults.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <optional>

#include "base/text.h"

namespace recuda {
namespace {

std::string lower(std::string_view text) {
    std::string small(text);
    std::transform(small.begin(), small.end(), small.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return small;
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

/// Codes that say more than the status. The numbers are Z.ai's, which sends an empty balance as 429.
std::optional<LmFault> fault_of_code(std::string_view code) {
    struct Row {
        std::string_view first, last;
        LmFault fault;
    };
    static constexpr Row kRows[] = {{"1000", "1004", LmFault::unauthorised},
                                    {"1113", "1113", LmFault::no_balance},
                                    {"1211", "1211", LmFault::unknown_model},
                                    {"1210", "1215", LmFault::bad_request},
                                    {"1301", "1301", LmFault::bad_request},
                                    {"1302", "1305", LmFault::rate_limited},
                                    {"1313", "1313", LmFault::unauthorised},
                                    {"insufficient_quota", "insufficient_quota", LmFault::no_balance},
                                    {"invalid_api_key", "invalid_api_key", LmFault::unauthorised},
                                    {"model_not_found", "model_not_found", LmFault::unknown_model}};
    for (const Row& row : kRows)
        if (code.size() == row.first.size() && code >= row.first && code <= row.last) return row.fault;
    return std::nullopt;
}

bool speaks_of_money(std::string_view text) {
    return has_any(text, {"insufficient balance", "insufficient_quota", "exceeded your current quota", "usage limit",
                          "credit balance", "billing"});
}

bool speaks_of_an_unknown_model(std::string_view text) {
    return text.find("model") != std::string_view::npos &&
           has_any(text, {"not found", "not exist", "not_found", "unknown", "not supported", "no such"});
}

/// The first number from 400 to 599 that stands by itself, else 0.
int status_in(std::string_view text) {
    const auto is_word = [&](size_t at) {
        return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
    };
    for (size_t at = 0; at + 3 <= text.size(); ++at) {
        if ((at > 0 && is_word(at - 1)) || is_word(at + 3) || (text[at] != '4' && text[at] != '5')) continue;
        if (std::isdigit(static_cast<unsigned char>(text[at + 1])) == 0 ||
            std::isdigit(static_cast<unsigned char>(text[at + 2])) == 0)
            continue;
        return (text[at] - '0') * 100 + (text[at + 1] - '0') * 10 + (text[at + 2] - '0');
    }
    return 0;
}

LmFault fault_in(std::string_view text) {
    if (speaks_of_money(text)) return LmFault::no_balance;
    if (has_any(text, {"unauthorized", "not logged in", "please log in", "api key", "authenticat"}))
        return LmFault::unauthorised;
    if (speaks_of_an_unknown_model(text)) return LmFault::unknown_model;
    if (has_any(text, {"context length", "context window", "too long", "content filter"})) return LmFault::bad_request;
    if (has_any(text, {"unknown feature", "unexpected argument", "unknown option", "unknown argument"}))
        return LmFault::not_usable;
    if (has_any(text, {"rate limit", "too many requests"})) return LmFault::rate_limited;
    if (has_any(text, {"network", "connect", "timed out", "timeout", "econn"})) return LmFault::connection;
    return LmFault::server;
}

}  // namespace

LmFault fault_of(int status, std::string_view code, std::string_view message) {
    if (const std::optional<LmFault> told = fault_of_code(code)) return *told;
    const std::string words = lower(message);
    if (status == 401 || status == 403) return LmFault::unauthorised;
    if (status == 402 || (status == 429 && speaks_of_money(words))) return LmFault::no_balance;
    if (status == 404) return words.find("model") != std::string::npos ? LmFault::unknown_model : LmFault::not_usable;
    if (status == 408) return LmFault::timed_out;
    if (status == 429) return LmFault::rate_limited;
    if (status >= 500 || status == 409 || status == 425) return LmFault::server;
    if (status == 400 && speaks_of_an_unknown_model(words)) return LmFault::unknown_model;
    return status >= 400 ? LmFault::bad_request : LmFault::not_usable;
}

LmError told_failure(std::string_view who, std::string_view text) {
    const std::string words = lower(text);
    const int status = status_in(text);
    LmError error(status != 0 ? fault_of(status, "", text) : fault_in(words), "{}: {}", who, one_line(text));
    error.status = status;
    return error;
}

}  // namespace recuda
