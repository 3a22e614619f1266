#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>

#include "kernel/stripped_lines.h"
#include "kernel/stripped_source.h"

namespace recuda {
namespace {

/// Longer ones are apostrophes of two words ("don't … can't") in text that no compiler reads.
constexpr size_t kLongestCharacter = 14;

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || static_cast<unsigned char>(c) >= 0x80;
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

/// The text with every line joined to the one that a backslash continues it by (phase 2).
std::string joined(std::string_view source) {
    std::string text;
    for (size_t i = 0; i < source.size(); ++i) {
        if (source.substr(i).starts_with("\\\n"))
            i += 1;
        else if (source.substr(i).starts_with("\\\r\n"))
            i += 2;
        else
            text += source[i];
    }
    return text;
}

/// Whether a compiler may see line numbers, or read characters or line ends in ways of its own.
bool is_read_otherwise(std::string_view source) {
    if (has_any(source, {"?\?/", "?\?=", "?\?'", "\v", "\f", std::string_view("\0", 1)})) return true;
    for (size_t i = 0; i < source.size(); ++i)
        if (source[i] == '\r' && source.substr(i + 1, 1) != "\n") return true;
    // __LINE__, __builtin_LINE and what may paste their names together.
    return has_any(joined(source), {"__LINE__", "__builtin_LINE", "source_location", "##", "%:%:", "#%:", "%:#"});
}

/// Whether a line that names a file has something in the name that reads as another token elsewhere.
bool has_odd_file_name(std::string_view line) {
    if (!has_any(line, {"include", "import", "embed"})) return false;
    if (line.find('\\') != std::string_view::npos) return true;
    for (size_t open = line.find('<'); open != std::string_view::npos; open = line.find('<', open + 1)) {
        const std::string_view name = line.substr(open, line.find('>', open) - open);
        if (has_any(name, {"//", "/*", "'", "\""})) return true;
    }
    return false;
}

class CudaStripper {
 public:
    explicit CudaStripper(std::string_view source) : rest_(source) {}

    std::optional<std::string> run() {
        while (!rest_.empty() && !odd_) step();
        if (odd_) return std::nullopt;
        return lines_.take();
    }

 private:
    void step() {
        if (rest_[0] == '\n') return end_line();
        if (rest_.starts_with("//")) return skip_line_comment();
        if (rest_.starts_with("/*")) return skip_block_comment();
        if (rest_[0] == '\\') return backslash();
        if ((rest_[0] == '#' || rest_.starts_with("%:")) && lines_.is_blank())
            odd_ = odd_ || has_odd_file_name(rest_.substr(0, rest_.find('\n')));
        if (rest_[0] == '"' || rest_[0] == '\'') return literal();
        if (starts_number()) return number();
        if (is_word(rest_[0])) return word();
        keep(1);
    }

    void keep(size_t length) {
        lines_.add(rest_.substr(0, length));
        rest_.remove_prefix(length);
    }

    void end_line() {
        lines_.end_line();
        rest_.remove_prefix(1);
    }

    /// A line comment goes on where a backslash continues its line.
    void skip_line_comment() {
        size_t end = rest_.find('\n');
        while (end != std::string_view::npos) {
            const std::string_view line = rest_.substr(0, end);
            const size_t last = line.find_last_not_of(" \t\r");
            if (last == std::string_view::npos || line[last] != '\\') break;
            const std::string_view behind = line.substr(last + 1);
            odd_ = odd_ || !(behind.empty() || behind == "\r");  // GCC ends the line there, others do not
            end = rest_.find('\n', end + 1);
        }
        rest_.remove_prefix(std::min(end, rest_.size()));
    }

    void skip_block_comment() {
        const size_t close = rest_.find("*/", 2);
        if (close == std::string_view::npos) {
            odd_ = true;
            return;
        }
        const std::string_view comment = rest_.substr(0, close + 2);
        odd_ = odd_ || has_any(comment, {"*\\\n", "*\\\r"});
        // What follows stands in the line that the comment began in.
        if (comment.find('\n') != std::string_view::npos && lines_.is_blank())
            lines_.end_line();
        else
            lines_.add(" ");
        rest_.remove_prefix(comment.size());
    }

    /// The end of a line that goes on, or a stray backslash.
    void backslash() {
        const size_t blanks = std::min(rest_.find_first_not_of(" \t\r", 1), rest_.size());
        if (blanks < rest_.size() && rest_[blanks] != '\n') return keep(1);
        const bool ends_plainly = rest_.starts_with("\\\n") || rest_.starts_with("\\\r\n");
        const std::string_view next = rest_.substr(std::min(blanks + 1, rest_.size()));
        const bool joins_tokens =
            !lines_.ends_in_blank() && !next.empty() && !std::isspace(static_cast<unsigned char>(next[0]));
        if (!ends_plainly || joins_tokens) {
            odd_ = true;
            return;
        }
        lines_.add_fixed("\\\n");
        rest_.remove_prefix(blanks + 1);
    }

    void literal() {
        const char quote = rest_[0];
        size_t i = 1;
        while (i < rest_.size() && rest_[i] != quote && rest_[i] != '\n') i += rest_[i] == '\\' ? 2 : 1;
        const bool closed = i < rest_.size() && rest_[i] == quote;
        const std::string_view whole = rest_.substr(0, std::min(i + 1, rest_.size()));
        // Of a suffix it is not known here where it ends.
        const bool suffixed = i + 1 < rest_.size() && is_word(rest_[i + 1]);
        if (!closed || suffixed || whole.find('\n') != std::string_view::npos ||
            (quote == '\'' && whole.size() > kLongestCharacter)) {
            odd_ = true;
            return;
        }
        lines_.add_fixed(whole);
        rest_.remove_prefix(whole.size());
    }

    bool starts_number() const {
        const auto is_digit = [&](size_t at) {
            return at < rest_.size() && std::isdigit(static_cast<unsigned char>(rest_[at]));
        };
        return is_digit(0) || (rest_[0] == '.' && is_digit(1));
    }

    /// A preprocessing number, with the quotes between its digits.
    void number() {
        size_t size = 1;
        while (size < rest_.size()) {
            const char c = rest_[size], last = rest_[size - 1];
            const bool sign = (c == '+' || c == '-') && (last == 'e' || last == 'E' || last == 'p' || last == 'P');
            const bool separator = c == '\'' && size + 1 < rest_.size() && is_word(rest_[size + 1]);
            if (!is_word(c) && c != '.' && !sign && !separator) break;
            ++size;
        }
        keep(size);
    }

    void word() {
        size_t size = 1;
        while (size < rest_.size() && is_word(rest_[size])) ++size;
        const std::string_view name = rest_.substr(0, size);
        constexpr std::array<std::string_view, 5> kRaw{"R", "u8R", "uR", "UR", "LR"};
        // Its lines are joined by none and its comments are none: too rare to be worth taking anything away.
        odd_ = odd_ || (rest_.substr(size, 1) == "\"" && std::find(kRaw.begin(), kRaw.end(), name) != kRaw.end());
        keep(size);
    }

    std::string_view rest_;
    StrippedLines lines_;
    bool odd_ = false;
};

}  // namespace

std::optional<std::string> stripped_cuda(std::string_view source) {
    if (is_read_otherwise(source)) return std::nullopt;
    return CudaStripper(source).run();
}

}  // namespace recuda
