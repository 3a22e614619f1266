// Reads PTX text from front to back: white space, comments, words, numbers, and the line it stands on.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace recuda::vgpu::ptx {

/// A position in the text. Everything but `rest_of_line` skips white space and comments first.
class Cursor {
 public:
    explicit Cursor(std::string_view text) : text_(text) {}

    bool at_end() { return skip(), position_ == text_.size(); }
    char peek() { return skip(), position_ < text_.size() ? text_[position_] : '\0'; }
    char peek_after(uint32_t characters) const {
        return position_ + characters < text_.size() ? text_[position_ + characters] : '\0';
    }
    bool accept(char c);
    bool accept(std::string_view punctuation);
    void expect(char c);
    uint32_t line() { return skip(), line_; }

    /// A name ([A-Za-z_$%] then letters, digits, _ and $); empty where none begins here.
    std::string_view accept_word();
    std::string_view word(std::string_view what);

    /// The modifier of ".modifier": letters, digits, _ and "::"; empty where no '.' and letter stands here.
    std::string_view accept_directive();
    /// The same for a part of an opcode, which may begin with a digit (".2d").
    std::string_view accept_part();

    /// The contents of "…" (no escapes, one line).
    std::string_view string();

    /// An unsigned number, decimal, hexadecimal, octal or binary, with an optional U.
    struct Number {
        enum class Kind : uint8_t { integer, single, real } kind;
        uint64_t bits;
        bool is_unsigned;
    };
    Number number();

    /// A small non-negative decimal or hexadecimal number such as those of directives.
    uint64_t integer(std::string_view what);

    /// What is left of the present line, comments included, but at most `limit` characters; the cursor stays.
    std::string_view rest_of_line(size_t limit = std::string_view::npos) const;
    void skip_line();

    /// Skips `{ … }` with everything in it.
    void skip_braces();
    /// Skips `( … )` with everything in it.
    void skip_parentheses();

    template <typename... Args>
    [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
        throw Error("ptx line {}: {}", line_, one_line(fmt::format(format, std::forward<Args>(args)...)));
    }

 private:
    void skip();
    void skip_nested(char open, char close);
    Number hexadecimal_float(uint32_t digits, Number::Kind kind);
    Number decimal();
    uint64_t digits_of(unsigned base);
    std::string_view behind_dot();

    std::string_view text_;
    size_t position_ = 0;
    uint32_t line_ = 1;
};

inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool begins_word(char c) { return is_letter(c) || c == '_' || c == '$' || c == '%'; }
inline bool continues_word(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '$'; }

/// A character as an error message shows it.
std::string printable(char c);

}  // namespace recuda::vgpu::ptx
