#include "lm/field_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "lm/adapter.h"
#include "lm/loose_json.h"
#include "lm/python_text.h"

namespace recuda {
namespace {

using Json = nlohmann::json;
using Kind = FieldType::Kind;

/// A piece of a list of texts in quotes of its own.
std::string piece(const std::string& text) {
    const auto has = [&text](const char* part) { return text.find(part) != std::string::npos; };
    if (!has("\n") && !has("«") && !has("»")) return "«" + text + "»";
    std::string indented;
    for (const char c : text) {
        indented += c;
        if (c == '\n') indented += "    ";
    }
    return "«««\n    " + indented + "\n»»»";
}

std::optional<Json> as_type(const FieldType& type, const Json& value);

template <typename Words>
bool holds(const Words& words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

template <typename Number>
std::optional<Number> number_in(std::string_view text) {
    text = trimmed(text);
    if (text.starts_with('+')) text.remove_prefix(1);
    Number number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
    return number;
}

std::optional<Json> as_number(const Json& value) {
    std::optional<double> number;
    if (value.is_number()) number = value.get<double>();
    if (value.is_boolean()) number = value.get<bool>() ? 1 : 0;
    if (value.is_string()) number = number_in<double>(value.get_ref<const std::string&>());
    if (!number || !std::isfinite(*number)) return std::nullopt;
    return *number;
}

std::optional<Json> as_integer(const Json& value) {
    if (value.is_number_integer()) return value;
    if (value.is_string())
        if (const auto whole = number_in<int64_t>(value.get_ref<const std::string&>())) return *whole;
    const std::optional<Json> number = as_number(value);
    constexpr double kLimit = 9007199254740992;  // 2^53: beyond it a float does not tell whole numbers apart
    if (!number || std::abs(number->get<double>()) > kLimit) return std::nullopt;
    const auto real = number->get<double>();
    if (real != std::trunc(real)) return std::nullopt;
    return static_cast<int64_t>(real);
}

std::optional<Json> as_boolean(const Json& value) {
    static constexpr std::array<std::string_view, 6> kYes{"1", "true", "t", "yes", "y", "on"};
    static constexpr std::array<std::string_view, 6> kNo{"0", "false", "f", "no", "n", "off"};
    if (value.is_boolean()) return value;
    if (value.is_number() && (value == 0 || value == 1)) return value == 1;
    if (!value.is_string()) return std::nullopt;
    std::string word(trimmed(value.get_ref<const std::string&>()));
    for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (holds(kYes, word)) return true;
    if (holds(kNo, word)) return false;
    return std::nullopt;
}

/// One of the choices, also in quotes or as Literal[…], which models write.
std::optional<Json> as_choice(const FieldType& type, const Json& value) {
    if (!value.is_string()) return std::nullopt;
    const auto& text = value.get_ref<const std::string&>();
    const auto is_choice = [&type](std::string_view word) { return holds(type.literals, word); };
    if (is_choice(text)) return value;
    std::string_view word = python_strip(text);
    if ((word.starts_with("Literal[") || word.starts_with("str[")) && word.ends_with(']')) {
        word.remove_prefix(word.find('[') + 1);
        word.remove_suffix(1);
    }
    if (word.size() > 1 && word.front() == word.back() && (word.front() == '"' || word.front() == '\''))
        word = word.substr(1, word.size() - 2);
    if (!is_choice(word)) return std::nullopt;
    return std::string(word);
}

std::optional<Json> as_list(const FieldType& type, const Json& value) {
    if (!value.is_array()) return std::nullopt;
    Json list = Json::array();
    for (const Json& element : value) {
        std::optional<Json> read = as_type(type.element.at(0), element);
        if (!read) return std::nullopt;
        list.push_back(std::move(*read));
    }
    return list;
}

/// The value as that type, as lax as pydantic; nothing where it is none.
std::optional<Json> as_type(const FieldType& type, const Json& value) {
    switch (type.kind) {
        case Kind::text:
            return value.is_string() ? std::optional(value) : std::nullopt;
        case Kind::integer:
            return as_integer(value);
        case Kind::number:
            return as_number(value);
        case Kind::boolean:
            return as_boolean(value);
        case Kind::literal:
            return as_choice(type, value);
        case Kind::list:
            return as_list(type, value);
        case Kind::optional:
            return value.is_null() ? std::optional(value) : as_type(type.element.at(0), value);
    }
    return std::nullopt;
}

[[noreturn]] void complain(const Field& field, std::string_view what, const Json& found) {
    throw AnswerError("the field `{}` must be {}; found: {}", field.name, what, one_line(python_str(found), 200));
}

Json checked(const Field& field, const Json& found) {
    std::optional<Json> value = as_type(field.type, found);
    if (!value && field.type.kind == Kind::literal) {
        complain(field, "one of " + joined(field.type.literals, ", "), found);
    }
    if (!value) complain(field, "a valid " + name(field.type), found);
    if (value->is_number()) {
        const auto number = value->get<double>();
        if (field.at_least && number < *field.at_least)
            complain(field, fmt::format("at least {}", *field.at_least), found);
        if (field.at_most && number > *field.at_most) complain(field, fmt::format("at most {}", *field.at_most), found);
    }
    return *std::move(value);
}

/// Whether a section's text is the value, quotes, brackets and all.
bool is_taken_as_it_is(const FieldType& type) {
    if (type.kind == Kind::optional) return type.element.at(0).kind == Kind::text;
    return type.kind == Kind::text || type.kind == Kind::literal;
}

}  // namespace

std::string format_value(const FieldType& type, const Json& value) {
    if (!value.is_structured()) return python_str(value);
    if (!value.is_array() || type.kind != Kind::text) return python_json(value);
    if (value.empty()) return "N/A";
    if (value.size() == 1) return piece(python_str(value[0]));
    std::vector<std::string> pieces;
    for (const Json& element : value)
        pieces.push_back(fmt::format("[{}] {}", pieces.size() + 1, piece(python_str(element))));
    return joined(pieces, "\n");
}

Json parse_value(const Field& field, const std::string& text) {
    if (is_taken_as_it_is(field.type)) return checked(field, text);
    return checked(field, read_loose_json(text).value_or(Json(text)));
}

Json parse_value(const Field& field, const Json& json) {
    if (field.type.kind == Kind::text) return python_str(json);
    if (json.is_string()) return parse_value(field, json.get<std::string>());
    return checked(field, json);
}

}  // namespace recuda
