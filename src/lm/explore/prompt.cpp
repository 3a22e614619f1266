#include "lm/explore/prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "lm/explore.h"

namespace recuda {
namespace {

constexpr uint64_t kQuestionBytes = 8'000, kMeaningBytes = 300;
constexpr size_t kKeysShown = 20;

/// "12 texts", "3 records with the keys a, b".
std::string elements_of(const Json& list) {
    std::map<std::string, size_t> kinds;
    std::set<std::string> keys;
    for (const Json& element : list) {
        ++kinds[element.is_string()   ? "texts"
                : element.is_object() ? "records"
                : element.is_array()  ? "lists"
                                      : "values"];
        if (element.is_object() && keys.size() <= kKeysShown)
            for (const auto& [key, value] : element.items()) keys.insert(key);
    }
    std::vector<std::string> parts;
    for (const auto& [kind, count] : kinds) parts.push_back(fmt::format("{} {}", count, kind));
    std::vector<std::string> shown(keys.begin(), std::next(keys.begin(), std::min(keys.size(), kKeysShown)));
    const std::string with = shown.empty() ? "" : fmt::format(" with the keys {}", joined(shown, ", "));
    return (parts.empty() ? "nothing" : joined(parts, ", ")) + with;
}

struct Shape {
    std::string type, text;  // text: what the preview is of
};

Shape shape_of(const Json& value) {
    if (value.is_string()) {
        const auto& text = value.get_ref<const std::string&>();
        const auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) +
                           (text.empty() || text.back() == '\n' ? 0 : 1);
        return {fmt::format("text, {} bytes, {} lines", text.size(), lines), text};
    }
    const std::string text = dump(value);
    if (value.is_array()) return {fmt::format("list of {}, {} bytes as JSON", elements_of(value), text.size()), text};
    if (value.is_object()) {
        std::vector<std::string> keys;
        for (const auto& [key, element] : value.items())
            if (keys.size() < kKeysShown) keys.push_back(one_line(key, 60));
        return {fmt::format("table of {} entries ({}{}), {} bytes as JSON", value.size(), joined(keys, ", "),
                            value.size() > kKeysShown ? ", …" : "", text.size()),
                text};
    }
    return {"value", text};
}

/// What programs print and variables hold stands apart from the lines around it, which it could not otherwise be told
/// from.
std::string indented(std::string_view text) {
    std::string lines;
    for (const std::string_view line : split_lines(text)) lines += fmt::format("    {}\n", line);
    return lines;
}

/// Beginning and end, each half of the limit.
std::string preview(const std::string& text, uint64_t limit_bytes) {
    if (text.size() <= limit_bytes) return indented(valid_utf8(text));
    const std::string_view all = text;
    const uint64_t half = limit_bytes / 2;
    return fmt::format("{}    […]\n{}", indented(valid_utf8(all.substr(0, half))),
                       indented(valid_utf8(all.substr(all.size() - half))));
}

std::string fields_text(const std::vector<Field>& answer) {
    std::string text;
    for (const Field& field : answer) {
        text += fmt::format("- {} ({})", field.name, name(field.type));
        if (!field.description.empty()) text += ": " + bounded(field.description, kMeaningBytes);
        text += "\n";
    }
    return text;
}

/// How much of a turn is shown, from all of it to nothing.
struct Share {
    uint64_t code, output, reasoning;
};
constexpr Share kShares[] = {
    {20'000, 20'000, 2'000}, {4'000, 2'000, 500}, {1'500, 500, 200}, {400, 150, 0}, {80, 0, 0}};
constexpr size_t kLeftOut = std::size(kShares);

std::string turn_text(const ExploreTurn& turn, size_t number, const Share& share) {
    std::string text = fmt::format("--- turn {} ---\n", number);
    if (share.reasoning > 0 && !turn.reasoning.empty()) text += bounded(turn.reasoning, share.reasoning) + "\n";
    text += fmt::format("Program:\n{}\n", bounded(turn.code, share.code));
    if (share.output == 0) return text + "(its output is no longer shown)\n";
    if (!turn.error.empty()) text += fmt::format("Error:\n{}", indented(bounded(turn.error, share.output)));
    if (turn.output.empty()) return text + (turn.error.empty() ? "It printed nothing.\n" : "");
    return text + fmt::format("Printed:\n{}", indented(bounded(turn.output, share.output)));
}

}  // namespace

std::string variables_text(const ExploreJob& job, const std::vector<Field>& answer) {
    std::string variables;
    for (const ExploreVariable& variable : job.variables) {
        const Shape shape = shape_of(variable.value);
        variables += fmt::format("- {}: {}\n", variable.name, shape.type);
        if (!variable.meaning.empty()) variables += fmt::format("  {}\n", one_line(variable.meaning, kMeaningBytes));
        variables += preview(shape.text, job.bounds.preview_bytes);
    }
    std::string functions;
    for (const SessionFunction& function : job.functions) functions += fmt::format("- {}\n", function.usage);
    return fmt::format(
        "Question:\n{}\n\nVariables (only how they begin and end):\n{}\nFunctions beside Lua's own:\n"
        "- print(...): what it prints is shown to you in the next turn, {} bytes of it at most\n{}"
        "- ask(question): the answer of a model that sees this text alone, at most {} bytes; {} questions in all\n"
        "- submit{{field = value, ...}}: ends with the answer\n\nFields of the answer:\n{}",
        bounded(job.question, kQuestionBytes), bounded(variables, job.bounds.variables_bytes),
        job.bounds.sandbox.output_bytes, functions, job.bounds.ask_bytes, job.bounds.asks, fields_text(answer));
}

std::string history_text(const std::vector<ExploreTurn>& turns, uint64_t limit_bytes) {
    if (turns.empty()) return "No turn yet.";
    std::vector<size_t> share(turns.size(), 0);
    std::vector<std::string> texts;
    uint64_t size = 0;
    for (size_t i = 0; i < turns.size(); ++i) {
        texts.push_back(turn_text(turns[i], i + 1, kShares[0]));
        size += texts.back().size();
    }
    for (size_t level = 1; level <= kLeftOut && size > limit_bytes; ++level) {
        for (size_t i = 0; i + 1 < turns.size() && size > limit_bytes; ++i) {
            size -= texts[i].size();
            texts[i] = level == kLeftOut ? "" : turn_text(turns[i], i + 1, kShares[level]);
            size += texts[i].size();
        }
    }
    const auto left_out = std::count(texts.begin(), texts.end(), "");
    std::string history = left_out == 0 ? "" : fmt::format("--- {} earlier turns are no longer shown ---\n", left_out);
    for (const std::string& text : texts) history += text;
    return bounded(history, limit_bytes + 100);
}

std::string program_in(const std::string& answer) {
    constexpr std::string_view kFence = "```";
    const std::string_view text = trimmed(answer);
    const size_t open = text.find(kFence);
    if (open == std::string_view::npos || (open > 0 && text[open - 1] != '\n')) return std::string(text);
    const size_t begin = text.find('\n', open);
    if (begin == std::string_view::npos) return std::string(text);
    const size_t end = text.find("\n```", begin);
    return std::string(trimmed(text.substr(begin, end == std::string_view::npos ? end : end - begin)));
}

}  // namespace recuda
