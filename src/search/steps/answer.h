// The kernel files in a model's answer: each fenced block that has directives, other blocks and the prose around them
// left alone. What a model writes is untrusted text: it is only ever read as a kernel file.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/kernel_file.h"
#include "lm/adapter.h"

namespace recuda {

struct Task;

inline constexpr size_t kMostAnswerBytes = 1 << 20, kMostDrafts = 8;

/// A kernel file as a model wrote it.
struct Draft {
    std::string text;
    Language language = Language::cuda;
};

/// The text of an answer that carries kernels; of a list of texts, which some models give, all of them as blocks.
std::string kernels_of(const FieldValues& values);

/// At most kMostDrafts of them, in their order, each once. A text without any fence that has directives is one as a
/// whole. Throws AnswerError where there is none, and for a text beyond kMostAnswerBytes.
std::vector<Draft> drafts_in(std::string_view text);

/// A draft read for a task, or what is wrong with it: "kernel.cu:3:10: …".
struct ReadDraft {
    std::shared_ptr<const KernelFile> file;  // null where it cannot be read
    std::string problem;
};

/// Never throws for what stands in the draft. Lines of the file are those of the draft: a `task` directive that is
/// missing is added at its end.
ReadDraft read_draft(const Draft& draft, const Task& task);

}  // namespace recuda
