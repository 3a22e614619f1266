#include "search/steps/answer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "kernel/source_text.h"
#include "lm/loose_json.h"
#include "search/space.h"
#include "search/steps/brief.h"
#include "task/task.h"

namespace recuda {
namespace {

constexpr size_t kMostBlocks = 256;

/// How many backticks or tildes a line begins with, at least three; 0 where it is no fence.
size_t fence_length(std::string_view line) {
    const std::string_view content = trimmed(line);
    if (content.empty() || (content[0] != '`' && content[0] != '~')) return 0;
    const size_t length = std::min(content.find_first_not_of(content[0]), content.size());
    return length >= 3 ? length : 0;
}

struct Block {
    std::string info, text;
};

/// Fenced blocks in their order; one that is never closed ends with the text.
std::vector<Block> blocks_in(std::string_view text) {
    std::vector<Block> blocks;
    size_t open = 0;
    char mark = 0;
    for (const std::string_view line : split_lines(text)) {
        const std::string_view content = trimmed(line);
        const size_t length = fence_length(line);
        if (open == 0) {
            if (length == 0) continue;
            if (blocks.size() == kMostBlocks) break;
            open = length;
            mark = content[0];
            blocks.push_back({std::string(trimmed(content.substr(length))), ""});
        } else if (length >= open && content[0] == mark && content.size() == length) {
            open = 0;
        } else {
            blocks.back().text += std::string(line) + "\n";
        }
    }
    return blocks;
}

/// The language by its directives; none where there are none. A shell's `#!/…` in the first line is none.
std::optional<Language> language_of(const std::string& text) {
    if (!directive_lines(text, Language::cuda).empty()) return Language::cuda;
    if (!directive_lines(text, Language::triton).empty()) return Language::triton;
    return std::nullopt;
}

bool is_for(const std::string& named, const std::string& task) {
    constexpr std::string_view kLong = "cuda_rlm.tasks.";
    const std::string_view plain =
        named.starts_with(kLong) ? std::string_view(named).substr(kLong.size()) : std::string_view(named);
    return plain.empty() || plain == task || plain == std::string_view(task).substr(task.rfind('#') + 1);
}

}  // namespace

std::string kernels_of(const FieldValues& values) {
    const auto found = values.find("kernel");
    if (found == values.end() || !found->second.is_string()) return "";
    const auto& text = found->second.get_ref<const std::string&>();
    const std::optional<Json> list = trimmed(text).starts_with('[') ? read_loose_json(text) : std::nullopt;
    if (!list || !list->is_array()) return text;
    std::string blocks;
    for (const Json& one : *list) {
        if (!one.is_string()) return text;
        const auto& block = one.get_ref<const std::string&>();
        blocks += trimmed(block).starts_with("```") ? block + "\n" : fenced(block);
    }
    return blocks;
}

std::vector<Draft> drafts_in(std::string_view text) {
    if (text.size() > kMostAnswerBytes)
        throw AnswerError("the field `kernel` has {} bytes; at most {} are read", text.size(), kMostAnswerBytes);
    std::vector<Block> blocks = blocks_in(text);
    if (blocks.empty()) blocks.push_back({"", std::string(text)});
    std::vector<Draft> drafts;
    for (const Block& block : blocks) {
        const std::optional<Language> language = language_of(block.text);
        if (!language || drafts.size() == kMostDrafts) continue;
        const bool known =
            std::any_of(drafts.begin(), drafts.end(), [&](const Draft& draft) { return draft.text == block.text; });
        if (!known) drafts.push_back({block.text, *language});
    }
    if (drafts.empty())
        throw AnswerError(
            "the field `kernel` holds no kernel file: no fenced block in it has directives (lines such as "
            "`//! launch name<<<grid, block>>>(arguments)`)");
    return drafts;
}

ReadDraft read_draft(const Draft& draft, const Task& task) {
    const std::string name = draft.language == Language::cuda ? "kernel.cu" : "kernel.py";
    try {
        const std::string text = valid_utf8(draft.text);
        KernelFile file = parse_kernel_file(text, name, draft.language);
        if (!is_for(file.task, task.name))
            return {nullptr, fmt::format("{}: it is written for the task {}; what is asked for is {}", name,
                                         one_line(file.task, 80), task.name)};
        const std::string own = file.task.empty()
                                    ? fmt::format("{}{} task    {}\n", text, directive_mark(draft.language), task.name)
                                    : with_task(text, draft.language, task.name);
        file = parse_kernel_file(own, name, draft.language);
        check_names(file, *task.op);
        return {std::make_shared<const KernelFile>(std::move(file)), ""};
    } catch (const Error& problem) {
        return {nullptr, problem.what()};
    }
}

}  // namespace recuda
