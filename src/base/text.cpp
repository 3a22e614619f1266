#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace recuda {
namespace {

/// Levenshtein distance where swapping two neighbours costs one as well (optimal string alignment).
size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<size_t> before, last(b.size() + 1), row(b.size() + 1);
    std::iota(last.begin(), last.end(), size_t{0});
    for (size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before = std::exchange(last, row);
    }
    return last.back();
}

/// Length of the UTF-8 sequence at the beginning of `text`, 0 where there is none (RFC 3629).
size_t utf8_length(std::string_view text) {
    const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    const auto follows = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
    const unsigned first = byte(0);
    if (first < 0x80) return 1;
    if (first >= 0xc2 && first < 0xe0) return follows(1) ? 2 : 0;
    if (first >= 0xe0 && first < 0xf0) {
        const bool overlong = first == 0xe0 && byte(1) < 0xa0, surrogate = first == 0xed && byte(1) > 0x9f;
        return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
    }
    if (first >= 0xf0 && first < 0xf5) {
        const bool overlong = first == 0xf0 && byte(1) < 0x90, beyond = first == 0xf4 && byte(1) > 0x8f;
        return follows(1) && follows(2) && follows(3) && !overlong && !beyond ? 4 : 0;
    }
    return 0;
}

/// Where the character that holds the byte at `at` begins; `at` itself where there is none.
size_t character_at(std::string_view text, size_t at) {
    for (size_t back = 0; back < 4 && back <= at && at < text.size(); ++back)
        if (utf8_length(text.substr(at - back)) > back) return at - back;
    return at;
}

/// Whether a character commands a terminal, or changes the order in which the ones around it are shown: C0, DEL, C1
/// (U+0080 to U+009F), line separators, and the marks of Unicode's bidirectional algorithm (UAX #9, section 2).
bool is_command(std::string_view character) {
    if (character.size() == 1) return static_cast<unsigned char>(character[0]) < ' ' || character[0] == '\x7f';
    if (character.size() == 2) return (character[0] == '\xc2' && character < "\xc2\xa0") || character == "\xd8\x9c";
    const auto is_from = [character](std::string_view first, std::string_view last) {
        return character >= first && character <= last;
    };
    return is_from("\xe2\x80\x8e", "\xe2\x80\x8f") || is_from("\xe2\x80\xa8", "\xe2\x80\xae") ||
           is_from("\xe2\x81\xa6", "\xe2\x81\xa9");
}

/// UTF-8 with a blank for each command but those in `kept`.
std::string without_commands(std::string_view text, std::string_view kept) {
    const std::string valid = valid_utf8(text);
    std::string plain;
    plain.reserve(valid.size());
    for (std::string_view rest = valid; !rest.empty();) {
        const std::string_view character = rest.substr(0, utf8_length(rest));
        rest.remove_prefix(character.size());
        plain += is_command(character) && kept.find(character) == std::string_view::npos ? " " : character;
    }
    return plain;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlank = " \t\r\n\v\f";
    const size_t first = text.find_first_not_of(kBlank);
    if (first == std::string_view::npos) return text.substr(0, 0);
    return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (true) {
        const size_t at = text.find(separator);
        parts.push_back(text.substr(0, at));
        if (at == std::string_view::npos) return parts;
        text.remove_prefix(at + 1);
    }
}

std::vector<std::string_view> split_lines(std::string_view text) {
    std::vector<std::string_view> lines = split(text, '\n');
    if (lines.back().empty()) lines.pop_back();
    for (std::string_view& line : lines)
        if (line.ends_with('\r')) line.remove_suffix(1);
    return lines;
}

std::string joined(std::span<const std::string> parts, std::string_view separator) {
    return fmt::format("{}", fmt::join(parts.begin(), parts.end(), separator));
}

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
    if (word.size() > 200) return "";
    size_t best = std::max<size_t>(2, word.size() / 3) + 1;
    std::string found;
    for (const std::string& candidate : candidates) {
        if (const size_t distance = edit_distance(word, candidate); distance < best && distance < candidate.size()) {
            best = distance;
            found = candidate;
        }
    }
    return found;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
    const std::string meant = nearest(word, candidates);
    return meant.empty() ? "" : fmt::format("; did you mean {}?", meant);
}

std::string valid_utf8(std::string_view text) {
    std::string valid;
    valid.reserve(text.size());
    while (!text.empty()) {
        const size_t length = utf8_length(text);
        if (length == 0) {
            valid += "\xef\xbf\xbd";
            text.remove_prefix(1);
        } else {
            valid += text.substr(0, length);
            text.remove_prefix(length);
        }
    }
    return valid;
}

std::string one_line(std::string_view text, size_t limit_bytes) {
    if (text.size() <= limit_bytes) return without_commands(text, "");
    return without_commands(text.substr(0, character_at(text, limit_bytes)), "") + "…";
}

std::string printable(std::string_view text) { return without_commands(text, "\n\t"); }

std::string without_byte_order_mark(std::string text) {
    constexpr std::string_view kMark = "\xef\xbb\xbf";
    if (text.starts_with(kMark)) text.erase(0, kMark.size());
    return text;
}

std::string bounded(std::string_view text, uint64_t limit_bytes) {
    if (text.size() <= limit_bytes) return valid_utf8(text);
    const size_t head = character_at(text, limit_bytes * 2 / 3);
    size_t tail = text.size() - (limit_bytes - limit_bytes * 2 / 3);
    if (const size_t begin = character_at(text, tail); begin < tail) tail = begin + utf8_length(text.substr(begin));
    return fmt::format("{}\n[… {} bytes left out …]\n{}", valid_utf8(text.substr(0, head)), tail - head,
                       valid_utf8(text.substr(tail)));
}

}  // namespace recuda
