#include "kernel/source_text.h"

#include <optional>
#include <utility>

#include "base/text.h"
#include "kernel/stripped_source.h"

namespace recuda {
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

namespace {

/// The text as it stands, but for what `tune` lines say: a candidate's own file says one value there.
std::string without_tunes(const KernelFile& file) {
    std::string text;
    std::string_view rest = file.text;
    for (const DirectiveLine& line : directive_lines(file.text, file.language)) {
        if (line.word != "tune") continue;
        const auto before = static_cast<size_t>(line.text.data() - rest.data());
        text += rest.substr(0, before);
        rest.remove_prefix(before + line.text.size());
    }
    return text.append(rest);
}

}  // namespace

std::string stripped_source(const KernelFile& file) {
    std::optional<std::string> stripped =
        file.language == Language::cuda ? stripped_cuda(file.text) : stripped_python(file.text);
    // No stripped text begins with an empty line.
    return stripped ? std::move(*stripped) : "\n" + without_tunes(file);
}

}  // namespace recuda
