// From an answer to values: sections below markers first, then JSON objects wherever they stand in the text. Every step
// is linear in the answer's size, whatever is in it.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "lm/adapter.h"
#include "lm/field_value.h"
#include "lm/loose_json.h"
#include "lm/python_text.h"

namespace recuda {
namespace {

using Json = nlohmann::json;

/// What an answer gave for each field, before it is read as the field's type.
using Found = std::map<std::string, Json, std::less<>>;

/// The field that a line opens a section of, and `rest` what follows the marker; "" for other lines.
std::string_view opened_by(std::string_view line, std::string_view& rest) {
    constexpr std::string_view kOpen = "[[ ## ", kClose = " ## ]]";
    if (line.find(kOpen) == std::string_view::npos) return {};
    line = python_strip(line);
    if (!line.starts_with(kOpen)) return {};
    const size_t end = line.find(kClose, kOpen.size());
    if (end == std::string_view::npos) return {};
    const std::string_view field = line.substr(kOpen.size(), end - kOpen.size());
    const bool is_word = std::ranges::all_of(field, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
    if (!is_word) return {};
    rest = python_strip(line.substr(end + kClose.size()));
    return field;
}

/// Sections of output fields, the first of each; text before the first marker and of other markers is left out.
Found marked_sections(const Signature& signature, std::string_view text) {
    std::map<std::string, std::string, std::less<>> bodies;
    std::string* body = nullptr;
    while (!text.empty()) {
        std::string_view line = take_line(text), rest;
        if (const std::string_view field = opened_by(line, rest); !field.empty()) {
            const bool wanted = signature.output(field) != nullptr && !bodies.contains(field);
            body = wanted ? &bodies[std::string(field)] : nullptr;
            if (rest.empty()) continue;
            line = rest;
        }
        if (body == nullptr) continue;
        *body += line;
        *body += '\n';
    }
    Found found;
    for (const auto& [field, content] : bodies) found[field] = std::string(python_strip(content));
    return found;
}

bool may_be_left_out(const Field& field) { return field.type.kind == FieldType::Kind::optional; }

bool is_whole(const Signature& signature, const Found& found) {
    return std::ranges::all_of(signature.outputs,
                               [&found](const Field& f) { return may_be_left_out(f) || found.contains(f.name); });
}

/// Whether an object with members may begin at this bracket; most brackets of a program do not.
bool opens_object(std::string_view text, size_t bracket) {
    const size_t next = text.find_first_not_of(" \t\r\n", bracket + 1);
    if (next == std::string_view::npos) return false;
    const char c = text[next];
    return c == '"' || c == '\'' || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// The first object of the text that has every field, else the first that has any.
Found json_object(const Signature& signature, std::string_view text) {
    Found best;
    size_t work = text.size() * 8 + 1024;
    for (size_t at = text.find('{'); at != std::string_view::npos && work > 0; at = text.find('{', at)) {
        size_t end = at;
        const std::optional<Json> object = opens_object(text, at) ? read_loose_json(text, end, work) : std::nullopt;
        Found found;
        if (object)
            for (const Field& field : signature.outputs)
                if (const auto member = object->find(field.name); member != object->end()) found[field.name] = *member;
        if (!found.empty() && is_whole(signature, found)) return found;
        at = found.empty() ? at + 1 : end;
        if (best.empty()) best = std::move(found);
    }
    return best;
}

/// The answer without the thoughts that some models write before it, in which fields may stand as drafts.
std::string_view without_thoughts(std::string_view text) {
    constexpr std::string_view kOpen = "<think>", kClose = "</think>";
    if (!python_strip(text).starts_with(kOpen)) return text;
    const size_t end = text.find(kClose);
    return end == std::string_view::npos ? text : text.substr(end + kClose.size());
}

std::string names(const std::vector<std::string>& fields) { return "`" + joined(fields, "`, `") + "`"; }

[[noreturn]] void complain_of_missing(const Signature& signature, const Found& found, std::string_view text) {
    std::vector<std::string> missing, present;
    for (const Field& field : signature.outputs) {
        if (found.contains(field.name)) {
            present.push_back(field.name);
        } else if (found.empty() || !may_be_left_out(field)) {
            missing.push_back(field.name);
        }
    }
    if (!present.empty()) throw AnswerError("the answer has {} and lacks {}", names(present), names(missing));
    if (python_strip(text).empty()) throw AnswerError("the answer is empty; it must have {}", names(missing));
    throw AnswerError(
        "the answer has none of the fields {}, neither as marked sections nor as a JSON object; it begins: {}",
        names(missing), one_line(python_strip(text), 200));
}

}  // namespace

FieldValues parse_answer(const Signature& signature, const std::string& answer) {
    const std::string valid = without_byte_order_mark(valid_utf8(answer));
    const std::string_view text = without_thoughts(valid);
    Found found = marked_sections(signature, text);
    bool marked = true;
    if (!is_whole(signature, found)) {
        Found object = json_object(signature, text);
        if (found.empty() || is_whole(signature, object)) {
            found = std::move(object);
            marked = false;
        }
    }
    FieldValues values;
    for (const Field& field : signature.outputs) {
        const auto value = found.find(field.name);
        if (value == found.end()) {
            if (may_be_left_out(field)) values[field.name] = nullptr;
            continue;
        }
        values[field.name] = marked ? parse_value(field, value->second.get_ref<const std::string&>())
                                    : parse_value(field, value->second);
    }
    if (found.empty() || !is_whole(signature, found)) complain_of_missing(signature, found, text);
    return values;
}

}  // namespace recuda
