#include "search/steps/prompts.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "evaluation/evaluation.h"
#include "search/steps/brief.h"
#include "search/steps/findings.h"
#include "search/steps/program.h"
#include "task/op.h"
#include "task/task.h"

namespace recuda {
namespace {

constexpr size_t kMostSourceBytes = 24'000, kMostExcerptBytes = 4000, kMostQueryBytes = 300;
constexpr char kNone[] = "none";

std::string or_none(std::string text) { return text.empty() ? kNone : std::move(text); }

std::string source_text(const std::string& source, bool triton) {
    return fenced(shown_text(source, kMostSourceBytes), triton ? "python" : "cuda");
}

std::string source_text(const Shown& kernel) {
    return source_text(kernel.source, kernel.evaluation.language == "triton");
}

}  // namespace

Prompts::Prompts(Parts parts)
    : parts_(std::move(parts)), task_(task_brief(parts_.task)), reference_(reference_text(parts_.task)) {}

Prompt Prompts::begun(const char* path) const {
    return {path,
            {{"task", task_},
             {"reference", reference_},
             {"device", parts_.device},
             {"kernel_format", std::string(kernel_format())}},
            {}};
}

void Prompts::add_notes(Prompt& prompt, const IndexQuery& query) const {
    std::string notes;
    if (parts_.documents != nullptr && query.at_most > 0)
        for (const ShownDocument& document : parts_.documents->find(query, false)) {
            notes += fmt::format("{} `{}`:\n{}", document.found.kind, one_line(document.found.document, 200),
                                 fenced(shown_text(document.found.excerpt, kMostExcerptBytes)));
            prompt.documents.push_back(document.found.document);
        }
    prompt.inputs["notes"] = or_none(std::move(notes));
}

Prompt Prompts::propose(std::span<const Evaluation> screened) const {
    Prompt prompt = begun(kPropose);
    add_notes(prompt, {.text = parts_.task.op->name,
                       .task = parts_.task.name,
                       .op = parts_.task.op->name,
                       .family = parts_.task.family,
                       .at_most = parts_.most_documents});
    prompt.inputs["tried"] = or_none(tried(screened));
    return prompt;
}

Prompt Prompts::repair(const Failure& failure) const {
    Prompt prompt = begun(kRepair);
    add_notes(prompt, {.text = one_line(failure.query, kMostQueryBytes),
                       .op = parts_.task.op->name,
                       .language = failure.triton ? "triton" : "cuda",
                       .at_most = parts_.by_diagnostic ? parts_.most_documents : 0});
    prompt.inputs["kernel_file"] = source_text(failure.source, failure.triton);
    prompt.inputs["diagnostics"] = failure.diagnostics;
    prompt.inputs["attempts"] = failure.lineage.empty() ? kNone : fenced(failure.lineage);
    return prompt;
}

Prompt Prompts::improve(const Shown& best, std::span<const Evaluation> screened) const {
    Prompt prompt = begun(kImprove);
    add_notes(prompt, {.text = fmt::format("{} {}", parts_.task.op->name, one_line(best.evaluation.idea, 200)),
                       .task = parts_.task.name,
                       .op = parts_.task.op->name,
                       .family = parts_.task.family,
                       .at_most = parts_.most_documents});
    prompt.inputs["tried"] = or_none(tried(screened));
    prompt.inputs["kernel_file"] = source_text(best);
    prompt.inputs["findings"] = findings(best.evaluation, parts_.task);
    return prompt;
}

Prompt Prompts::combine(const Shown& first, const Shown& second, std::span<const Evaluation> screened) const {
    Prompt prompt = begun(kCombine);
    prompt.inputs["tried"] = or_none(tried(screened));
    prompt.inputs["first_kernel"] = source_text(first);
    prompt.inputs["first_findings"] = findings(first.evaluation, parts_.task);
    prompt.inputs["second_kernel"] = source_text(second);
    prompt.inputs["second_findings"] = findings(second.evaluation, parts_.task);
    return prompt;
}

}  // namespace recuda
