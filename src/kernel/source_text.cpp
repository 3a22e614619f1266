#include "kernel/source_text.h"

#include "base/text.h"

namespace recuda {
namespace {

/// Length of the string, character or raw string literal at the beginning of `text`; 0 when there is none.
size_t cuda_literal(std::string_view text) {
    if (text.starts_with("R\"")) {
        const size_t open = text.find('(');
        if (open == std::string_view::npos) return 0;
        const std::string end = ")" + std::string(text.substr(2, open - 2)) + "\"";
        const size_t close = text.find(end, open);
        return close == std::string_view::npos ? text.size() : close + end.size();
    }
    const char quote = text[0];
    if (quote != '"' && quote != '\'') return 0;
    for (size_t i = 1; i < text.size() && text[i] != '\n'; ++i) {
        if (text[i] == '\\')
            ++i;
        else if (text[i] == quote)
            return i + 1;
    }
    return 1;  // never closed on its line: a digit separator, or an error that is the compiler's to tell
}

/// Length of the (perhaps triple-quoted) string at the beginning of `text`; 0 when there is none.
size_t python_literal(std::string_view text) {
    if (text[0] != '"' && text[0] != '\'') return 0;
    const std::string_view triple = text.substr(0, 3);
    const bool is_triple = triple == "\"\"\"" || triple == "'''";
    const std::string_view end = is_triple ? triple : text.substr(0, 1);
    for (size_t i = end.size(); i < text.size(); ++i) {
        if (text[i] == '\\')
            ++i;
        else if (text.substr(i).starts_with(end))
            return i + end.size();
        else if (!is_triple && text[i] == '\n')
            return i;
    }
    return text.size();
}

size_t line_end(std::string_view text) { return std::min(text.find('\n'), text.size()); }

}  // namespace

std::string_view directive_mark(Language language) { return language == Language::cuda ? "//!" : "#!"; }

std::vector<DirectiveLine> directive_lines(std::string_view source, Language language) {
    const std::string_view mark = directive_mark(language);
    std::vector<DirectiveLine> directives;
    uint32_t number = 0;
    for (const std::string_view line : split_lines(source)) {
        ++number;
        const std::string_view content = trimmed(line);
        if (!content.starts_with(mark)) continue;
        const std::string_view body = trimmed(content.substr(mark.size()));
        if (number == 1 && language == Language::triton && content.starts_with("#!/")) continue;
        const size_t word_end = std::min(body.find_first_of(" \t"), body.size());
        DirectiveLine directive{
            .word = body.substr(0, word_end), .text = trimmed(body.substr(word_end)), .line = number};
        const auto column = [&](std::string_view part) { return static_cast<uint32_t>(part.data() - line.data()) + 1; };
        directive.column = column(directive.word);
        directive.text_column = column(directive.text);
        directives.push_back(directive);
    }
    return directives;
}

std::string without_cuda_comments(std::string_view source) {
    std::string kept;
    kept.reserve(source.size());
    while (!source.empty()) {
        size_t length = 1;
        if (source.starts_with("//")) {
            source.remove_prefix(line_end(source));
            continue;
        }
        if (source.starts_with("/*")) {
            const size_t close = source.find("*/", 2);
            length = close == std::string_view::npos ? source.size() : close + 2;
            kept += ' ';
            for (const char c : source.substr(0, length))
                if (c == '\n') kept += c;
            source.remove_prefix(length);
            continue;
        }
        // A raw string's R must not be the end of a longer name.
        const bool in_word =
            !kept.empty() && (std::isalnum(static_cast<unsigned char>(kept.back())) || kept.back() == '_');
        if (const size_t literal = in_word && source[0] != '"' ? 0 : cuda_literal(source); literal > 0)
            length = literal;
        kept += source.substr(0, length);
        source.remove_prefix(length);
    }
    return kept;
}

std::string without_python_comments(std::string_view source) {
    std::string kept;
    kept.reserve(source.size());
    while (!source.empty()) {
        if (source[0] == '#') {
            source.remove_prefix(line_end(source));
            continue;
        }
        const size_t length = std::max<size_t>(1, python_literal(source));
        kept += source.substr(0, length);
        source.remove_prefix(length);
    }
    return kept;
}

std::string stripped_source(const KernelFile& file) {
    const std::string bare =
        file.language == Language::cuda ? without_cuda_comments(file.text) : without_python_comments(file.text);
    std::string kept;
    for (std::string_view line : split_lines(bare)) {
        const size_t last = line.find_last_not_of(" \t\r");
        if (last == std::string_view::npos) continue;
        kept += line.substr(0, last + 1);
        kept += '\n';
    }
    return kept;
}

}  // namespace recuda
