#include "lm/chat.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "lm/faults.h"

namespace recuda {
namespace {

constexpr size_t kMostNameBytes = 200;

/// The member of an object, or null for what is no object or has no such member.
const Json& member(const Json& object, const char* key) {
    static const Json none;
    if (!object.is_object()) return none;
    const auto found = object.find(key);
    return found == object.end() ? none : *found;
}

std::string text_of(const Json& value) {
    if (value.is_string()) return value.get<std::string>();
    return value.is_number_integer() ? value.dump() : "";
}

/// A count that the other side told: what is no sensible number is 0.
uint64_t count_of(const Json& value) {
    const double number = value.is_number() ? value.get<double>() : 0;
    return number > 0 && number < 1e15 ? static_cast<uint64_t>(number) : 0;
}

/// A message's content: a text, or a list of parts with texts.
std::string content_of(const Json& content) {
    if (!content.is_array()) return text_of(content);
    std::string text;
    for (const Json& part : content) text += text_of(member(part, "text"));
    return text;
}

Usage usage_of(const Json& answer) {
    const Json& told = member(answer, "usage");
    Usage usage{.input_tokens = count_of(member(told, "prompt_tokens")),
                .output_tokens = count_of(member(told, "completion_tokens")),
                .reasoning_tokens = count_of(member(member(told, "completion_tokens_details"), "reasoning_tokens"))};
    usage.reported = usage.tokens() > 0;
    if (const Json& cost = member(told, "cost"); cost.is_number() && cost.get<double>() > 0)
        usage.cost_usd = cost.get<double>();
    return usage;
}

/// The error in a body: {"error": {"code", "message", "type"}} and what others make of that.
struct ToldError {
    std::string code, message;
};
ToldError error_of(const Json& body) {
    const Json& error = member(body, "error");
    ToldError told{.code = text_of(member(error, "code")), .message = text_of(member(error, "message"))};
    if (told.code.empty()) told.code = text_of(member(error, "type"));
    for (const Json* other : {&error, &member(body, "message"), &member(body, "detail")})
        if (told.message.empty()) told.message = text_of(*other);
    return told;
}

[[noreturn]] void refuse(const HttpReply& reply, const Json& body, const Secrets& secrets) {
    ToldError told = error_of(body);
    if (told.message.empty()) told.message = reply.body.substr(0, 2000);
    LmError error(fault_of(reply.status, told.code, told.message), "HTTP {}{}: {}", reply.status,
                  told.code.empty() ? "" : fmt::format(" ({})", one_line(secrets.without(told.code), 60)),
                  one_line(secrets.without(told.message)));
    error.status = reply.status;
    error.retry_after_s = reply.retry_after_s;
    throw LmError(error);
}

[[noreturn]] void unreadable(const Usage& usage, const std::string& why) {
    LmError error(LmFault::unreadable, "HTTP 200, but {}", why);
    error.status = 200;
    error.usage = usage;
    throw LmError(error);
}

Json body_of(const HttpReply& reply) {
    return Json::parse(valid_utf8(reply.body), nullptr, /*allow_exceptions=*/false);
}

/// A body of status 200 without choices that holds an error instead, as some gateways send.
void refuse_hidden_error(const Json& body, const Secrets& secrets) {
    const ToldError told = error_of(body);
    if (member(body, "error").is_null() || told.message.empty()) return;
    LmError error = told_failure("the server", secrets.without(told.code + " " + told.message));
    if (const LmFault fault = fault_of(500, told.code, told.message); fault != LmFault::server) error.fault = fault;
    throw LmError(error);
}

}  // namespace

std::string chat_body(const LmRequest& request, const Preset& preset, const std::string& model) {
    Json body = parse_json(preset.body, preset.name);
    body["model"] = model;
    body["stream"] = false;
    Json& messages = body["messages"] = Json::array();
    for (const Message& message : request.messages)
        messages.push_back({{"role", message.role}, {"content", json_text(message.content)}});
    if (request.temperature && preset.sends_temperature)
        body["temperature"] = std::clamp(*request.temperature, 0.0, preset.max_temperature);
    if (preset.max_answer_tokens > 0) body[preset.max_tokens_field] = preset.max_answer_tokens;
    return dump(body);
}

LmResponse read_chat(const HttpReply& reply, const Secrets& secrets) {
    const Json body = body_of(reply);
    if (reply.status < 200 || reply.status >= 300) refuse(reply, body, secrets);
    if (body.is_discarded()) unreadable({}, "the body is no JSON: " + one_line(secrets.without(reply.body), 100));
    const Usage usage = usage_of(body);
    const Json& choices = member(body, "choices");
    if (!choices.is_array() || choices.empty()) {
        refuse_hidden_error(body, secrets);
        unreadable(usage, "the answer has no choices");
    }
    const Json& message = member(choices[0], "message");
    LmResponse response{.text = secrets.without(content_of(member(message, "content"))),
                        .finish = one_line(secrets.without(text_of(member(choices[0], "finish_reason"))), 60),
                        .model = one_line(secrets.without(text_of(member(body, "model"))), kMostNameBytes),
                        .usage = usage};
    for (const char* key : {"reasoning_content", "reasoning"})
        if (response.reasoning.empty()) response.reasoning = secrets.without(text_of(member(message, key)));
    if (trimmed(response.text).empty())
        unreadable(usage, response.finish == "length"
                              ? "the answer is empty: its bound in tokens went into thinking"
                              : fmt::format("the answer is empty{}",
                                            response.reasoning.empty() ? "" : " beside its reasoning"));
    return response;
}

std::string first_model(const HttpReply& reply, const Secrets& secrets) {
    const Json body = body_of(reply);
    if (reply.status < 200 || reply.status >= 300) refuse(reply, body, secrets);
    const Json& models = member(body, "data");
    const std::string listed = models.is_array() && !models.empty() ? text_of(member(models[0], "id")) : "";
    const std::string model = one_line(secrets.without(listed), kMostNameBytes);
    if (model.empty()) throw LmError(LmFault::unknown_model, "the server lists no model; name one with --model");
    return model;
}

}  // namespace recuda
