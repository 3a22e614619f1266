#include "build/cxx_text.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include "base/text.h"

namespace recuda {
namespace {

bool is_word_character(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || static_cast<unsigned char>(c) >= 0x80;
}

class Tokenizer {
 public:
    explicit Tokenizer(std::string_view source) : rest_(source), size_(source.size()) {}

    std::vector<CxxToken> run() {
        bool line_start = true;
        while (!rest_.empty()) {
            if (rest_[0] == '\n') line_start = true;
            if (skip_blank() || skip_comment()) continue;
            const uint32_t line = line_;
            if (line_start && (rest_[0] == '#' || rest_.starts_with("%:"))) {
                const size_t from = size_ - rest_.size();
                advance(rest_[0] == '#' ? 1 : 2);
                std::string text = directive();
                tokens_.push_back({CxxToken::Kind::directive, std::move(text), line, from, size_ - rest_.size()});
            } else if (const size_t length = string_length(); length > 0) {
                tokens_.push_back({CxxToken::Kind::string, std::string(rest_.substr(0, length)), line});
                advance(length);
            } else if (is_word_character(rest_[0])) {
                const size_t size = word_length();
                tokens_.push_back({CxxToken::Kind::word, std::string(rest_.substr(0, size)), line});
                advance(size);
            } else {
                tokens_.push_back({CxxToken::Kind::punctuation, std::string(rest_.substr(0, 1)), line});
                advance(1);
            }
            line_start = false;
        }
        return std::move(tokens_);
    }

 private:
    void advance(size_t count) {
        line_ +=
            static_cast<uint32_t>(std::count(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(count), '\n'));
        rest_.remove_prefix(count);
    }

    /// Length of a backslash at the end of a line with its newline, else 0.
    size_t continuation() const { return rest_.starts_with("\\\n") ? 2 : rest_.starts_with("\\\r\n") ? 3 : 0; }

    bool skip_blank() {
        const size_t count = std::isspace(static_cast<unsigned char>(rest_[0])) ? 1 : continuation();
        advance(count);
        return count > 0;
    }

    bool skip_comment() {
        if (rest_.starts_with("/*")) {
            const size_t end = rest_.find("*/", 2);
            advance(end == std::string_view::npos ? rest_.size() : end + 2);
            return true;
        }
        if (!rest_.starts_with("//")) return false;
        while (!rest_.empty() && rest_[0] != '\n') advance(std::max<size_t>(continuation(), 1));
        return true;
    }

    /// The rest of the logical line.
    std::string directive() {
        std::string text;
        while (!rest_.empty() && rest_[0] != '\n') {
            if (const size_t joint = continuation()) {
                advance(joint);
            } else if (skip_comment()) {
                text.push_back(' ');
            } else if (const size_t length = string_length(); length > 0) {
                text.append(rest_.substr(0, length));
                advance(length);
            } else {
                text.push_back(rest_[0]);
                advance(1);
            }
        }
        return text;
    }

    /// Length of the word at this place; a quote inside a number (1'000) belongs to it.
    size_t word_length() const {
        const bool number = std::isdigit(static_cast<unsigned char>(rest_[0]));
        size_t size = 1;
        while (size < rest_.size() &&
               (is_word_character(rest_[size]) ||
                (number && rest_[size] == '\'' && size + 1 < rest_.size() && is_word_character(rest_[size + 1]))))
            ++size;
        return size;
    }

    /// Length of the string or character literal at this place with its prefix, 0 where there is none.
    size_t string_length() const {
        size_t open = 0;
        for (std::string_view prefix : {"u8", "u", "U", "L"})
            if (rest_.starts_with(prefix)) {
                open = prefix.size();
                break;
            }
        if (rest_.substr(open).starts_with("R\"")) return raw_length(open + 2);
        if (open >= rest_.size() || (rest_[open] != '"' && rest_[open] != '\'')) return 0;
        const char quote = rest_[open];
        size_t at = open + 1;
        while (at < rest_.size() && rest_[at] != quote && rest_[at] != '\n') {
            if (rest_[at] == '\\') ++at;
            ++at;
        }
        return std::min(at + 1, rest_.size());
    }

    size_t raw_length(size_t delimiter) const {
        const size_t open = rest_.find('(', delimiter);
        if (open == std::string_view::npos) return rest_.size();
        const std::string close = ")" + std::string(rest_.substr(delimiter, open - delimiter)) + "\"";
        const size_t end = rest_.find(close, open);
        return end == std::string_view::npos ? rest_.size() : end + close.size();
    }

    std::string_view rest_;
    const size_t size_;
    uint32_t line_ = 1;
    std::vector<CxxToken> tokens_;
};

}  // namespace

std::vector<CxxToken> cxx_tokens(std::string_view source) { return Tokenizer(source).run(); }

std::string without_line_directives(std::string source) {
    for (const CxxToken& token : cxx_tokens(source)) {
        if (token.kind != CxxToken::Kind::directive) continue;
        const std::string_view text = trimmed(token.text);
        // `# 12 "x.cu"`, as preprocessors leave it, is one as well.
        const bool numbered = !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) != 0;
        if (!numbered && !(text.starts_with("line") && (text.size() == 4 || !is_word_character(text[4])))) continue;
        for (size_t i = token.from; i < token.to; ++i)
            if (source[i] != '\n' && source[i] != '\r') source[i] = ' ';
    }
    return source;
}

}  // namespace recuda
