#include "lm/result_json.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "lm/faults.h"
#include "lm/programs.h"

namespace recuda {
namespace {

bool is_result(const Json& json) { return json.is_object() && json.value("type", Json()) == "result"; }

/// The last result in a text of JSON, else null.
Json last_result(const std::string& out) {
    Json found;
    const auto look = [&](const Json& json) {
        if (json.is_array())
            for (const Json& part : json)
                if (is_result(part)) found = part;
        if (is_result(json)) found = json;
    };
    const std::string text = valid_utf8(out);
    const Json whole = Json::parse(text, nullptr, false);
    look(whole);
    if (whole.is_discarded())
        for (const std::string_view line : split_lines(text)) look(Json::parse(line, nullptr, false));
    return found;
}

std::string text_at(const Json& object, const char* key) {
    const Json value = object.is_object() ? object.value(key, Json()) : Json();
    return value.is_string() ? value.get<std::string>() : "";
}

double number_at(const Json& object, const char* key) {
    const Json value = object.is_object() ? object.value(key, Json()) : Json();
    const double number = value.is_number() ? value.get<double>() : 0;
    return number > 0 && number < 1e15 ? number : 0;
}

Usage usage_of(const Json& result) {
    const Json told = result.value("usage", Json());
    double input = 0;  // claude counts what it took from its provider's cache apart
    for (const char* key : {"input_tokens", "cache_creation_input_tokens"}) input += number_at(told, key);
    if (result.contains("total_cost_usd")) input += number_at(told, "cache_read_input_tokens");
    Usage usage{.input_tokens = static_cast<uint64_t>(input),
                .output_tokens = static_cast<uint64_t>(number_at(told, "output_tokens")),
                .cost_usd = number_at(result, "total_cost_usd")};
    usage.reported = usage.tokens() > 0;
    return usage;
}

/// What went wrong, in the result's words.
std::string failure_of(const Json& result) {
    std::string why = text_at(result.value("error", Json()), "message");
    if (why.empty()) why = text_at(result, "result");
    if (why.empty()) why = text_at(result, "subtype");
    return why.empty() ? "an error without words" : why;
}

}  // namespace

LmResponse read_result(std::string_view program, const ProcessResult& result) {
    const std::string who = fmt::format("{} ({})", program, ending_of(result));
    const Json told = last_result(result.out);
    if (told.is_null()) {
        if (result.status != 0) throw told_failure(who, last_words(result));
        throw LmError(LmFault::unreadable, "{}: no result in what it wrote: {}", who, last_words(result));
    }
    LmResponse response{.text = text_at(told, "result"), .finish = "stop", .usage = usage_of(told)};
    const std::string_view begin = trimmed(response.text);
    const bool failed = told.value("is_error", Json()) == true || result.status != 0 ||
                        begin.starts_with("[API Error") || begin.starts_with("API Error") ||
                        text_at(told, "subtype").starts_with("error");
    if (!failed) return response;
    LmError error = told_failure(who, failure_of(told));
    if (const int status = static_cast<int>(number_at(told, "api_error_status")); status >= 400 && status < 600) {
        error =
            LmError(fault_of(status, "", failure_of(told)), "{}: HTTP {}: {}", who, status, one_line(failure_of(told)));
        error.status = status;
    }
    error.usage = response.usage;
    throw LmError(error);
}

}  // namespace recuda
