#include "lm/loose_json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "base/text.h"

namespace recuda {
namespace {

using Json = nlohmann::json;

constexpr int kDeepest = 64;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.'; }
bool is_quote(char c) { return c == '"' || c == '\''; }

void append_utf8(std::string& text, uint32_t code) {
    if (code >= 0xd800 && code < 0xe000) code = 0xfffd;  // half a pair
    const auto put = [&text](uint32_t byte) { text += static_cast<char>(byte); };
    if (code < 0x80) return put(code);
    if (code < 0x800) {
        put(0xc0 | code >> 6);
    } else if (code < 0x10000) {
        put(0xe0 | code >> 12);
        put(0x80 | (code >> 6 & 0x3f));
    } else {
        put(0xf0 | code >> 18);
        put(0x80 | (code >> 12 & 0x3f));
        put(0x80 | (code >> 6 & 0x3f));
    }
    put(0x80 | (code & 0x3f));
}

/// A number, or a word that stands for a value.
bool read_word(std::string_view word, Json& value) {
    if (word == "null" || word == "None")
        value = nullptr;
    else if (word == "true" || word == "True")
        value = true;
    else if (word == "false" || word == "False")
        value = false;
    else {
        if (word.starts_with('+')) word.remove_prefix(1);
        const char* end = word.data() + word.size();
        int64_t whole = 0;
        double real = 0;
        if (const auto read = std::from_chars(word.data(), end, whole); read.ec == std::errc() && read.ptr == end) {
            value = whole;
        } else if (const auto as_real = std::from_chars(word.data(), end, real);
                   as_real.ec == std::errc() && as_real.ptr == end && std::isfinite(real)) {
            value = real;
        } else {
            return false;
        }
    }
    return true;
}

class Reader {
 public:
    Reader(std::string_view text, size_t at, size_t work) : text_(text), at_(at), work_(work) {}

    bool value(Json& value, char around, int depth) {
        skip_blanks();
        if (at_ >= text_.size() || depth > kDeepest) return false;
        const char c = text_[at_];
        if (c == '{') return object(value, depth);
        if (c == '[') return list(value, depth);
        if (is_quote(c)) {
            value = "";
            return string(value.get_ref<std::string&>(), around);
        }
        return word(value);
    }

    void skip_blanks() {
        while (at_ < text_.size() && is_blank(text_[at_]) && step()) ++at_;
    }

    size_t at() const { return at_; }
    size_t work() const { return work_; }
    bool at_end() const { return at_ >= text_.size(); }

 private:
    bool step() {
        if (work_ == 0) return false;
        --work_;
        return true;
    }
    bool take(char c) {
        if (at_end() || text_[at_] != c) return false;
        ++at_;
        return true;
    }

    bool object(Json& value, int depth) {
        value = Json::object();
        ++at_;
        while (step()) {
            skip_blanks();
            if (at_end() || take('}')) return true;
            std::string key;
            if (!this->key(key)) return false;
            skip_blanks();
            Json member;
            if (!take(':') || !this->value(member, '{', depth + 1)) return false;
            value[key] = std::move(member);
            skip_blanks();
            if (!take(',') && !at_end() && text_[at_] != '}') return false;
        }
        return false;
    }

    bool list(Json& value, int depth) {
        value = Json::array();
        ++at_;
        while (step()) {
            skip_blanks();
            if (at_end() || take(']')) return true;
            Json element;
            if (!this->value(element, '[', depth + 1)) return false;
            value.push_back(std::move(element));
            skip_blanks();
            if (!take(',') && !at_end() && text_[at_] != ']') return false;
        }
        return false;
    }

    bool key(std::string& key) {
        if (is_quote(text_[at_])) return string(key, ':');
        if (!is_letter(text_[at_])) return false;
        while (!at_end() && is_word(text_[at_]) && step()) key += text_[at_++];
        return true;
    }

    /// A string up to the quote that ends it; `around` is '{' or '[' for what it stands in, ':' for a key, 0 for
    /// nothing. A quote that nothing fitting follows is one that the model forgot to escape.
    bool string(std::string& value, char around) {
        constexpr size_t kLongestKey = 256;  // what is longer is no key: {"a", "b"} of a program
        const char quote = text_[at_++];
        while (!at_end() && step() && (around != ':' || value.size() < kLongestKey)) {
            const char c = text_[at_++];
            if (c == quote && ends_string(around)) return true;
            if (c == '\\' && !at_end()) {
                escaped(value);
            } else {
                value += c;
            }
        }
        return false;
    }

    /// What follows the quote decides. Only blanks are looked over, which no other quote looks over again.
    bool ends_string(char around) {
        if (around == ':') return true;
        const auto next_after = [this](size_t from) {
            while (from < text_.size() && is_blank(text_[from]) && step()) ++from;
            return from;
        };
        const auto at = [this](size_t place) { return place < text_.size() ? text_[place] : '\0'; };
        const size_t next = next_after(at_);
        if (next >= text_.size()) return true;
        if (around == '[') return at(next) == ',' || at(next) == ']';
        if (around != '{') return false;
        if (at(next) == '}') return true;
        if (at(next) != ',') return false;
        size_t key = next_after(next + 1);
        if (key >= text_.size() || is_quote(at(key)) || at(key) == '}') return true;
        if (!is_letter(at(key))) return false;
        constexpr size_t kLongestBareKey = 64;
        const size_t limit = key + kLongestBareKey;
        while (key < limit && is_word(at(key)) && step()) ++key;
        return at(key) == ':';
    }

    void escaped(std::string& value) {
        static constexpr std::string_view kNamed = "ntrbf", kMeant = "\n\t\r\b\f";
        const char c = text_[at_++];
        if (const size_t named = kNamed.find(c); named != std::string_view::npos) {
            value += kMeant[named];
        } else if (is_quote(c) || c == '\\' || c == '/') {
            value += c;
        } else if (uint32_t code = 0; c == 'u' && hex(at_, code)) {
            at_ += 4;
            uint32_t low = 0;
            const bool pair = code >= 0xd800 && code < 0xdc00 && text_.substr(at_, 2) == "\\u" && hex(at_ + 2, low) &&
                              low >= 0xdc00 && low < 0xe000;
            if (pair) at_ += 6;
            append_utf8(value, pair ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : code);
        } else {
            value += '\\';  // no escape of JSON: what the model meant to write
            value += c;
        }
    }

    bool hex(size_t at, uint32_t& code) const {
        const std::string_view digits = text_.substr(std::min(at, text_.size()), 4);
        const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
        return digits.size() == 4 && read.ptr == digits.data() + 4 && digits[0] != '-';
    }

    bool word(Json& value) {
        constexpr size_t kLongest = 64;
        const size_t from = at_;
        while (!at_end() && is_word(text_[at_]) && at_ - from < kLongest && step()) ++at_;
        return read_word(text_.substr(from, at_ - from), value);
    }

    std::string_view text_;
    size_t at_, work_;
};

/// The inside of a text that is one Markdown fence, else the text.
std::string_view without_fence(std::string_view text) {
    text = trimmed(text);
    const size_t line = text.find('\n');
    if (!text.starts_with("```") || !text.ends_with("```") || line == std::string_view::npos || text.size() < line + 4)
        return text;
    return trimmed(text.substr(line + 1, text.size() - line - 4));
}

}  // namespace

std::optional<Json> read_loose_json(std::string_view text, size_t& at, size_t& work) {
    Reader reader(text, at, work);
    Json value;
    const bool read = reader.value(value, '\0', 0);
    work = reader.work();
    if (!read) return std::nullopt;
    at = reader.at();
    return value;
}

std::optional<Json> read_loose_json(std::string_view text) {
    text = without_fence(text);
    size_t at = 0, work = text.size() * 4 + 64;
    std::optional<Json> value = read_loose_json(text, at, work);
    if (value && at < text.size()) value.reset();
    return value;
}

}  // namespace recuda
