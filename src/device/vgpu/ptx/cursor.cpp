#include "device/vgpu/ptx/cursor.h"

#include <bit>
#include <charconv>
#include <string>

namespace recuda::vgpu::ptx {

std::string printable(char c) {
    if (c == '\0') return "the end of the text";
    if (c < ' ' || c == '\x7f') return fmt::format("the byte 0x{:02x}", static_cast<unsigned char>(c));
    return fmt::format("'{}'", c);
}

void Cursor::skip() {
    while (position_ < text_.size()) {
        const char c = text_[position_];
        if (c == '\n') {
            ++line_;
            ++position_;
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
            ++position_;
        } else if (c == '/' && peek_after(1) == '/') {
            skip_line();
        } else if (c == '/' && peek_after(1) == '*') {
            const size_t end = text_.find("*/", position_ + 2);
            if (end == std::string_view::npos) fail("a comment that does not end");
            for (; position_ < end + 2; ++position_) line_ += text_[position_] == '\n';
        } else {
            return;
        }
    }
}

bool Cursor::accept(char c) {
    if (peek() != c || at_end()) return false;
    ++position_;
    return true;
}

bool Cursor::accept(std::string_view punctuation) {
    skip();
    if (text_.substr(position_, punctuation.size()) != punctuation) return false;
    position_ += punctuation.size();
    return true;
}

void Cursor::expect(char c) {
    if (!accept(c)) fail("expected '{}', not {}", c, printable(peek()));
}

std::string_view Cursor::accept_word() {
    if (!begins_word(peek())) return {};
    const size_t begin = position_++;
    while (position_ < text_.size() && continues_word(text_[position_])) ++position_;
    return text_.substr(begin, position_ - begin);
}

std::string_view Cursor::word(std::string_view what) {
    const std::string_view found = accept_word();
    if (found.empty()) fail("expected {}, not {}", what, printable(peek()));
    return found;
}

std::string_view Cursor::accept_directive() {
    if (peek() != '.') return {};
    const char next = peek_after(1);
    return is_letter(next) || next == '_' ? behind_dot() : std::string_view();
}

std::string_view Cursor::accept_part() {
    if (peek() != '.') return {};
    const char next = peek_after(1);
    return continues_word(next) ? behind_dot() : std::string_view();
}

std::string_view Cursor::behind_dot() {
    const size_t begin = ++position_;
    while (position_ < text_.size()) {
        if (text_[position_] == ':' && peek_after(1) == ':') {
            position_ += 2;
        } else if (continues_word(text_[position_])) {
            ++position_;
        } else {
            break;
        }
    }
    return text_.substr(begin, position_ - begin);
}

std::string_view Cursor::string() {
    expect('"');
    const size_t begin = position_;
    while (position_ < text_.size() && text_[position_] != '"' && text_[position_] != '\n') ++position_;
    if (peek_after(0) != '"') fail("a string that does not end on its line");
    return text_.substr(begin, position_++ - begin);
}

uint64_t Cursor::digits_of(unsigned base) {
    uint64_t value = 0;
    const char* begin = text_.data() + position_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value, static_cast<int>(base));
    if (error == std::errc::result_out_of_range) fail("a number of more than 64 bits");
    if (error != std::errc()) fail("a number without digits");
    position_ += static_cast<size_t>(end - begin);
    return value;
}

Cursor::Number Cursor::hexadecimal_float(uint32_t digits, Number::Kind kind) {
    const size_t begin = position_ += 2;
    const uint64_t bits = digits_of(16);
    if (position_ - begin != digits) fail("a float in hexadecimal has {} digits here", digits);
    return {kind, bits, false};
}

Cursor::Number Cursor::decimal() {
    const size_t begin = position_;
    while (is_digit(peek_after(0))) ++position_;
    bool real = false;
    if (peek_after(0) == '.') {
        real = true;
        ++position_;
        while (is_digit(peek_after(0))) ++position_;
    }
    if (const char e = peek_after(0); e == 'e' || e == 'E') {
        const uint32_t sign = peek_after(1) == '-' || peek_after(1) == '+';
        if (is_digit(peek_after(1 + sign))) {
            real = true;
            position_ += 1 + sign;
            while (is_digit(peek_after(0))) ++position_;
        }
    }
    const std::string_view digits = text_.substr(begin, position_ - begin);
    if (real) {
        double value = 0;
        const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (result.ec == std::errc::result_out_of_range) fail("a float out of range");
        if (result.ec != std::errc()) fail("a float without digits");
        return {Number::Kind::real, std::bit_cast<uint64_t>(value), false};
    }
    position_ = begin;
    const bool octal = digits.size() > 1 && digits[0] == '0';
    const uint64_t value = digits_of(octal ? 8 : 10);
    return {Number::Kind::integer, value, false};
}

Cursor::Number Cursor::number() {
    skip();
    const char second = peek_after(1);
    Number result;
    if (peek_after(0) != '0' || is_digit(second)) {
        result = decimal();
    } else if (second == 'f' || second == 'F') {
        return hexadecimal_float(8, Number::Kind::single);
    } else if (second == 'd' || second == 'D') {
        return hexadecimal_float(16, Number::Kind::real);
    } else if (second == 'x' || second == 'X') {
        position_ += 2;
        result = {Number::Kind::integer, digits_of(16), false};
    } else if (second == 'b' || second == 'B') {
        position_ += 2;
        result = {Number::Kind::integer, digits_of(2), false};
    } else {
        result = decimal();
    }
    if (result.kind == Number::Kind::integer && peek_after(0) == 'U') {
        ++position_;
        result.is_unsigned = true;
    }
    if (continues_word(peek_after(0))) fail("{} in a number", printable(peek_after(0)));
    return result;
}

uint64_t Cursor::integer(std::string_view what) {
    if (!is_digit(peek())) fail("expected {}, not {}", what, printable(peek()));
    const Number found = number();
    if (found.kind != Number::Kind::integer) fail("expected {}, not a float", what);
    return found.bits;
}

std::string_view Cursor::rest_of_line(size_t limit) const {
    const std::string_view rest = text_.substr(position_, limit);
    return rest.substr(0, rest.find('\n'));
}

void Cursor::skip_line() { position_ += rest_of_line().size(); }

void Cursor::skip_nested(char open, char close) {
    expect(open);
    for (uint64_t depth = 1; depth > 0;) {
        if (at_end()) fail("'{}' without its '{}'", open, close);
        const char c = text_[position_];
        if (c == '"') {
            string();
            continue;
        }
        depth += c == open;
        depth -= c == close;
        ++position_;
    }
}

void Cursor::skip_braces() { skip_nested('{', '}'); }
void Cursor::skip_parentheses() { skip_nested('(', ')'); }

}  // namespace recuda::vgpu::ptx
