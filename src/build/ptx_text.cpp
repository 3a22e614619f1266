#include "build/ptx_text.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace recuda {
namespace {

bool is_word_character(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' || c == '.';
}

/// Length of the comment at the beginning of `text`, 0 where there is none.
size_t comment_length(std::string_view text) {
    if (text.starts_with("//")) return std::min(text.find('\n'), text.size());
    if (!text.starts_with("/*")) return 0;
    const size_t end = text.find("*/", 2);
    return end == std::string_view::npos ? text.size() : end + 2;
}

size_t string_length(std::string_view text) {
    size_t at = 1;
    while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
    return std::min(at + 1, text.size());
}

/// "::" joins the parts of a word (ld.shared::cluster.u32); a single ':' ends a label.
size_t word_length(std::string_view text) {
    size_t size = 0;
    while (size < text.size() && (is_word_character(text[size]) || text.substr(size).starts_with("::")))
        size += is_word_character(text[size]) ? 1 : 2;
    return size;
}

}  // namespace

std::vector<PtxToken> ptx_tokens(std::string_view ptx) {
    std::vector<PtxToken> tokens;
    uint32_t line = 1;
    while (!ptx.empty()) {
        size_t length = 1;
        if (const size_t comment = comment_length(ptx); comment > 0) {
            length = comment;
        } else if (ptx[0] == '"') {
            length = string_length(ptx);
            tokens.push_back({PtxToken::Kind::string, ptx.substr(0, length), line});
        } else if (is_word_character(ptx[0])) {
            length = word_length(ptx);
            tokens.push_back({PtxToken::Kind::word, ptx.substr(0, length), line});
        } else if (!std::isspace(static_cast<unsigned char>(ptx[0]))) {
            tokens.push_back({PtxToken::Kind::punctuation, ptx.substr(0, 1), line});
        }
        line += static_cast<uint32_t>(std::count(ptx.begin(), ptx.begin() + static_cast<std::ptrdiff_t>(length), '\n'));
        ptx.remove_prefix(length);
    }
    return tokens;
}

size_t behind_bracket(const std::vector<PtxToken>& tokens, size_t open) {
    int depth = 0;
    for (size_t i = open; i < tokens.size(); ++i) {
        if (tokens[i].kind != PtxToken::Kind::punctuation) continue;
        const char c = tokens[i].text[0];
        if (c == '{' || c == '(' || c == '[') ++depth;
        if ((c == '}' || c == ')' || c == ']') && --depth == 0) return i + 1;
    }
    return tokens.size();
}

}  // namespace recuda
