#include "lm/program.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "lm/dspy_state.h"
#include "lm/python_text.h"

namespace recuda {
namespace {

// Of an answer that is sent back, and of what is said about it: enough to be recognised, less than a prompt.
constexpr uint64_t kAnswerBytes = 32768, kComplaintBytes = 2000;

FieldValues read(const Signature& signature, const std::string& text, const Asking& asking) {
    FieldValues values = parse_answer(signature, text);
    if (asking.accept) asking.accept(values);
    return values;
}

/// What an input says cannot open a section of its own, whoever wrote it: "[[ ##" stands apart there.
nlohmann::json without_markers(const nlohmann::json& value) {
    if (value.is_structured()) {
        nlohmann::json parts = value;
        for (nlohmann::json& part : parts) part = without_markers(part);
        return parts;
    }
    if (!value.is_string()) return value;
    std::string text;
    const std::string_view given = value.get_ref<const std::string&>();
    for (size_t i = 0; i < given.size(); ++i) {
        text += given[i];
        if (!given.substr(i).starts_with("[[")) continue;
        const size_t next = given.find_first_not_of(" \t", i + 2);
        if (next != std::string_view::npos && given[next] == '#') text += ' ';
    }
    return text;
}

FieldValues without_markers(const FieldValues& inputs) {
    FieldValues plain;
    for (const auto& [name, value] : inputs) plain[name] = without_markers(value);
    return plain;
}

/// The request again, with the answer and what was wrong with it.
LmRequest with_complaint(LmRequest request, const Signature& signature, AdapterKind adapter, const std::string& answer,
                         std::string_view complaint) {
    const bool empty = python_strip(answer).empty();
    request.messages.push_back({"assistant", empty ? "(no text)" : bounded(answer, kAnswerBytes)});
    request.messages.push_back(
        {"user", fmt::format("This answer could not be used: {}\n\nAnswer the request above again, whole and in the "
                             "required form. {}",
                             bounded(complaint, kComplaintBytes), required_form(adapter, signature))});
    return request;
}

}  // namespace

Program::Program(std::vector<Predictor> predictors) : predictors_(std::move(predictors)) {}

const Predictor& Program::predictor(std::string_view path) const {
    const auto found = std::ranges::find(predictors_, path, &Predictor::path);
    if (found == predictors_.end()) throw Error("the program has no predictor `{}`", path);
    return *found;
}

Prediction Program::predict(std::string_view path, const FieldValues& inputs, LanguageModel& model,
                            const Asking& asking, const std::stop_token& stop) const {
    const Predictor& asked = predictor(path);
    const LmRequest request{
        .messages = format_messages(asking.adapter, asked.signature, asked.demos, without_markers(inputs)),
        .temperature = asking.temperature,
        .rollout = asking.rollout,
        .step = asked.path,
        .documents = asking.documents};
    const LmResponse first = model.complete(request, stop);
    try {
        return {.values = read(asked.signature, first.text, asking), .text = first.text, .usage = first.usage};
    } catch (const AnswerError& error) {
        const LmResponse second =
            model.complete(with_complaint(request, asked.signature, asking.adapter, first.text, error.what()), stop);
        Usage usage = first.usage;
        usage += second.usage;
        return {.values = read(asked.signature, second.text, asking), .text = second.text, .usage = usage};
    }
}

void Program::load(const std::filesystem::path& state) {
    constexpr uint64_t kLargest = uint64_t{64} << 20;
    std::string text = read_file(state, kLargest);
    try {
        predictors_ = with_state(predictors_, parse_state(text));
    } catch (const Error& error) {
        throw Error("{}: {}", shown(state), error.what());
    }
    state_ = std::move(text);
}

void Program::save(const std::filesystem::path& state) const {
    const nlohmann::ordered_json before = state_.empty() ? nlohmann::ordered_json::object() : parse_state(state_);
    if (state.has_parent_path()) make_folder(state.parent_path());
    write_atomically(state, orjson_text(state_of(predictors_, before)));
}

}  // namespace recuda
