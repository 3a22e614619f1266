// Small things with text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace recuda {

std::string_view trimmed(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);
std::vector<std::string_view> split_lines(std::string_view text);
std::string joined(std::span<const std::string> parts, std::string_view separator);

/// The candidate nearest to `word` by edit distance when it is near enough to be meant, else "".
std::string nearest(std::string_view word, std::span<const std::string> candidates);

/// "; did you mean X?" or "": for the end of an error message.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

/// The text with every byte sequence that is not UTF-8 replaced by U+FFFD.
std::string valid_utf8(std::string_view text);

/// The text as one line for a message: at most `limit_bytes` and "…", with blanks for what `printable` takes out, tabs
/// and line ends.
std::string one_line(std::string_view text, size_t limit_bytes = 400);

/// Text of others for a terminal: UTF-8, with blanks for characters that would command it or turn the order of others.
std::string printable(std::string_view text);

/// The text without the byte order mark that some editors put before UTF-8; compilers take it for a stray character.
std::string without_byte_order_mark(std::string text);

/// At most `limit_bytes` of the text as UTF-8: its beginning and end, no character cut, with a line
/// "[… N bytes left out …]" between.
std::string bounded(std::string_view text, uint64_t limit_bytes);

}  // namespace recuda
