#include "report/report.h"

#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "report/measured.h"
#include "report/plot.h"
#include "report/ratio_plot.h"
#include "report/table.h"
#include "store/run_folder.h"
#include "task/task.h"

namespace recuda {
namespace {

/// A fence that is longer than any run of backticks in the text.
std::string fenced(const std::string& text, const std::string& language) {
    std::string fence = "```";
    while (text.find(fence) != std::string::npos) fence += '`';
    return fence + language + "\n" + text + (text.ends_with('\n') ? "" : "\n") + fence + "\n";
}

/// A JSON object as a list of its keys, other text as it is.
std::string listed(const std::string& text) {
    if (!Json::accept(text)) return text.empty() ? "" : fenced(text, "");
    const Json json = Json::parse(text);
    if (!json.is_object()) return fenced(dump(json, 2), "json");
    const Json nothing("");
    std::string list;
    for (const auto& [key, value] : json.items())
        if (key == "memory_peaks")
            list += shown_peaks(value);
        else if (value != nothing && !value.is_null())
            list += fmt::format("- {}: {}\n", key, value.is_string() ? value.get<std::string>() : dump(value));
    return list;
}

std::string verified(const Evaluation& best) {
    Table table{.titles = {"workload", "outcome", "worst input", "error", "bound"},
                .right = {false, false, false, true, true}};
    for (const WorkloadVerdict& workload : best.verdict.workloads)
        table.rows.push_back({shown(workload.axes), std::string(name(workload.outcome)), workload.input,
                              fmt::format("{:.3g}", workload.max_error), fmt::format("{:.3g}", workload.bound)});
    return table.rows.empty() ? "" : "\nVerified against the reference in double:\n\n" + markdown(table);
}

std::string best_section(const RunResult& result, const ReportParts& parts) {
    if (!result.best) return "## The best kernel\n\nNo right kernel was found.\n\n";
    const Evaluation& best = *result.best;
    std::string text = fmt::format("## The best kernel\n\n- digest: `{}`\n- from: {} {}\n", best.digest,
                                   name(best.origin), best.parent);
    if (!best.idea.empty()) text += fmt::format("- idea: {}\n", best.idea);
    text += fmt::format("- tunables: {}\n", shown_point(best.tunables));
    if (best.resources.registers > 0)
        text += fmt::format(
            "- resources: {} registers a thread, {} bytes spilled, {} bytes of static shared memory a block\n",
            best.resources.registers, best.resources.spill_bytes, best.resources.shared_bytes);
    if (const std::string facts = shown(best.facts); !facts.empty()) text += fmt::format("- code: {}\n", facts);
    if (best.median_ns)
        text += fmt::format("- median: {} (geometric mean over the workloads; {})\n", shown_time(*best.median_ns),
                            best.proofs.empty() ? "of the screening that chose it: no claim" : "of its proof");
    if (best.estimate) text += fmt::format("- estimate: {:.4g}\n", *best.estimate);
    if (best.stage != "whole")
        text += "- judged on the small workloads alone: the run ended before the finalists were judged whole\n";
    text += verified(best) + measured(best) + compared(best);
    if (parts.has_ratio_plot) text += "\n![sessions of the proof](ratios.svg)\n";
    return text + "\n" + fenced(parts.best_source, best.language == "triton" ? "python" : "cuda") + "\n";
}

std::string failures(const RunResult& result) {
    Table table{.titles = {"digest", "outcome", "why"}, .right = {false, false, false}};
    for (const Evaluation& evaluation : result.evaluations)
        if (evaluation.outcome != Outcome::correct)
            table.rows.push_back(
                {short_digest(evaluation.digest), std::string(name(evaluation.outcome)), reason(evaluation)});
    return table.rows.empty() ? "" : "## What was not right, and why\n\n" + markdown(table) + "\n";
}

std::string left_out(const RunResult& result) {
    std::set<std::string> all;
    for (const Evaluation& evaluation : result.evaluations)
        all.insert(evaluation.verdict.left_out.begin(), evaluation.verdict.left_out.end());
    if (all.empty()) return "";
    std::string text =
        "## What was left out\n\nThese workloads are too large for the virtual GPU; nothing is known about them:\n\n";
    for (const std::string& workload : all) text += "- " + workload + "\n";
    return text + "\n";
}

std::string limits(const RunResult& result) {
    std::string text = "## What these numbers are not\n\n";
    if (result.measures_time)
        return text +
               "- Only what is called a proof is a claim: its times and ratios come from sessions with new data, none "
               "of "
               "which chose the kernel. All other medians are of one session, a screening.\n"
               "- A proof is of this card on this day. INCONCLUSIVE is a result: the sessions do not tell.\n";
    return text +
           "- An estimate is not a time. It is computed from what the virtual GPU counted (bytes, sectors, bank "
           "conflicts, "
           "instructions) and ranks candidates where no GPU is; a GPU may order them differently.\n"
           "- Nothing here says how fast a kernel is.\n";
}

}  // namespace

std::string report_markdown(const RunResult& result, const ReportParts& parts) {
    std::string text = fmt::format(
        "# {}\n\nRun {} on {} ({} {}), preset {}. {} candidates; stopped by: {}{}.\n\n", result.task, result.run,
        result.device_name, result.device_kind, result.device_target, result.preset, result.evaluations.size(),
        name(result.stopped_by), result.exhausted.empty() ? "" : " (" + result.exhausted + ")");
    text += best_section(result, parts);
    if (!result.evaluations.empty()) text += "## Candidates, best first\n\n" + markdown(candidate_table(result)) + "\n";
    if (parts.has_plot) text += "![candidates](plot.svg)\n\n";
    if (!result.evaluations.empty()) {
        text += "Outcomes:";
        for (const auto& [outcome, count] : result.outcomes()) text += fmt::format(" {} {};", count, outcome);
        text.back() = '.';
        text += "\n\n";
    }
    text += model_section(result, parts.prompts) + failures(result) + left_out(result);
    if (!parts.notes.empty()) {
        text += "## Notes\n\n";
        for (const std::string& note : parts.notes) text += "- " + note + "\n";
        text += "\n";
    }
    text += limits(result);
    if (const std::string asked = listed(parts.asked); !asked.empty()) text += "\n## What was asked\n\n" + asked;
    if (const std::string environment = listed(parts.environment); !environment.empty())
        text += "\n## Where it ran\n\n" + environment;
    return text;
}

void write_report(const RunFolder& folder, const RunResult& result, const std::vector<std::string>& notes) {
    const std::string plot = plot_svg(result);
    if (!plot.empty()) write_atomically(folder.path() / "plot.svg", plot);
    const std::string ratios = result.best ? ratio_plot_svg(*result.best) : "";
    if (!ratios.empty()) write_atomically(folder.path() / "ratios.svg", ratios);
    ReportParts parts{.asked = folder.facts().asked,
                      .environment = folder.facts().environment,
                      .prompts = asked_prompts(folder),
                      .notes = notes,
                      .has_plot = !plot.empty(),
                      .has_ratio_plot = !ratios.empty()};
    if (result.best) parts.best_source = read_own_file(folder.path() / result.best->file);
    write_atomically(folder.path() / "report.md", printable(report_markdown(result, parts)));
}

}  // namespace recuda
