#include "lm/python_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

namespace recuda {
namespace {

// Line ends of str.splitlines beside "\r\n", and Unicode's white space (what str.isspace is true of).
constexpr std::array<std::string_view, 10> kLineEnds{"\n",   "\r",   "\v",       "\f",           "\x1c",
                                                     "\x1d", "\x1e", "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"};
constexpr std::array<std::string_view, 29> kBlanks{" ",
                                                   "\t",
                                                   "\n",
                                                   "\v",
                                                   "\f",
                                                   "\r",
                                                   "\x1c",
                                                   "\x1d",
                                                   "\x1e",
                                                   "\x1f",
                                                   "\xc2\x85",
                                                   "\xc2\xa0",
                                                   "\xe1\x9a\x80",
                                                   "\xe2\x80\x80",
                                                   "\xe2\x80\x81",
                                                   "\xe2\x80\x82",
                                                   "\xe2\x80\x83",
                                                   "\xe2\x80\x84",
                                                   "\xe2\x80\x85",
                                                   "\xe2\x80\x86",
                                                   "\xe2\x80\x87",
                                                   "\xe2\x80\x88",
                                                   "\xe2\x80\x89",
                                                   "\xe2\x80\x8a",
                                                   "\xe2\x80\xa8",
                                                   "\xe2\x80\xa9",
                                                   "\xe2\x80\xaf",
                                                   "\xe2\x81\x9f",
                                                   "\xe3\x80\x80"};

/// A text as a JSON string; UTF-8 stays as it is.
std::string json_string(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// repr of a str. Printability beyond ASCII is not looked at: such characters stay as they are.
std::string python_repr(const std::string& text) {
    const auto has = [&text](char c) { return text.find(c) != std::string::npos; };
    const char quote = has('\'') && !has('"') ? '"' : '\'';
    std::string shown(1, quote);
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == quote || c == '\\') {
            shown += '\\';
            shown += c;
        } else if (c == '\n') {
            shown += "\\n";
        } else if (c == '\r') {
            shown += "\\r";
        } else if (c == '\t') {
            shown += "\\t";
        } else if (byte < 0x20 || byte == 0x7f) {
            shown += fmt::format("\\x{:02x}", byte);
        } else {
            shown += c;
        }
    }
    return shown + quote;
}

/// A float as orjson 3.13 writes it: the shortest digits, exponents from 16 and to -6, without padding.
std::string orjson_float(double value) {
    if (!std::isfinite(value)) return "null";
    const std::string text = python_float(value);
    const size_t at = text.find('e');
    if (at == std::string::npos) return text;
    const std::string mantissa = text.substr(0, at);
    const int exponent = std::stoi(text.substr(at + 1));
    if (exponent != -5) return fmt::format("{}e{:+}", mantissa, exponent);
    std::string digits = mantissa;
    std::erase_if(digits, [](char c) { return c == '.' || c == '-'; });
    return (value < 0 ? "-0.0000" : "0.0000") + digits;
}

std::string json_float(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    return python_float(value);
}

/// Writes values on one line, or members on lines of their own.
class Writer {
 public:
    Writer(int indent, std::string (*number)(double)) : indent_(indent), float_(number) {}

    template <typename AnyJson>
    void write(const AnyJson& value, int depth = 0) {
        if (value.is_structured()) {
            members(value, depth);
        } else if (value.is_string()) {
            text_ += json_string(value.template get_ref<const std::string&>());
        } else if (value.is_number_float()) {
            text_ += float_(value.template get<double>());
        } else {
            text_ += value.dump();
        }
    }

    std::string taken() { return std::move(text_); }

 private:
    template <typename AnyJson>
    void members(const AnyJson& value, int depth) {
        text_ += value.is_object() ? '{' : '[';
        bool first = true;
        for (auto member = value.begin(); member != value.end(); ++member) {
            if (!first) text_ += indent_ < 0 ? ", " : ",";
            first = false;
            break_line(depth + 1);
            if (value.is_object()) text_ += json_string(member.key()) + ": ";
            write(*member, depth + 1);
        }
        if (!first) break_line(depth);
        text_ += value.is_object() ? '}' : ']';
    }

    void break_line(int depth) {
        if (indent_ < 0) return;
        text_ += '\n';
        text_.append(static_cast<size_t>(indent_) * static_cast<size_t>(depth), ' ');
    }

    int indent_;
    std::string (*float_)(double);
    std::string text_;
};

template <typename AnyJson>
std::string written(const AnyJson& value, int indent, std::string (*number)(double)) {
    Writer writer(indent, number);
    writer.write(value);
    return writer.taken();
}

}  // namespace

std::string python_float(double value) {
    std::string text = fmt::format("{}", value);
    if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
}

std::string python_str(const nlohmann::json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_null()) return "None";
    if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
    if (value.is_number_float()) return python_float(value.get<double>());
    if (!value.is_structured()) return value.dump();
    std::string text(1, value.is_object() ? '{' : '[');
    for (auto member = value.begin(); member != value.end(); ++member) {
        if (text.size() > 1) text += ", ";
        if (value.is_object()) text += python_repr(member.key()) + ": ";
        text += member->is_string() ? python_repr(member->get_ref<const std::string&>()) : python_str(*member);
    }
    return text + (value.is_object() ? '}' : ']');
}

std::string python_json(const nlohmann::json& value, int indent) { return written(value, indent, json_float); }

std::string python_json(const nlohmann::ordered_json& value, int indent) { return written(value, indent, json_float); }

std::string orjson_text(const nlohmann::ordered_json& value) { return written(value, 2, orjson_float) + "\n"; }

std::string_view take_line(std::string_view& rest) {
    for (size_t i = 0; i < rest.size(); ++i) {
        const auto byte = static_cast<unsigned char>(rest[i]);
        if (byte >= 0x20 && byte < 0x80) continue;  // most of any text
        const std::string_view from = rest.substr(i);
        const auto end = std::ranges::find_if(kLineEnds, [from](std::string_view e) { return from.starts_with(e); });
        if (end == kLineEnds.end()) continue;
        const std::string_view line = rest.substr(0, i);
        rest.remove_prefix(i + (from.starts_with("\r\n") ? 2 : end->size()));
        return line;
    }
    return std::exchange(rest, {});
}

std::string_view python_strip(std::string_view text) {
    const auto strip = [&text](auto&& starts_or_ends, auto&& remove) {
        while (true) {
            const auto blank = std::ranges::find_if(kBlanks, starts_or_ends);
            if (blank == kBlanks.end()) return;
            remove(blank->size());
        }
    };
    strip([&text](std::string_view blank) { return text.starts_with(blank); },
          [&text](size_t bytes) { text.remove_prefix(bytes); });
    strip([&text](std::string_view blank) { return text.ends_with(blank); },
          [&text](size_t bytes) { text.remove_suffix(bytes); });
    return text;
}

}  // namespace recuda
