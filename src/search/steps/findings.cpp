#include "search/steps/findings.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "evaluation/words.h"
#include "search/steps/brief.h"
#include "task/task.h"

namespace recuda {
namespace {

constexpr size_t kMostProfileBytes = 4500, kMostRight = 10, kMostFailed = 8, kMostIdeaBytes = 160;

std::string measured(const Evaluation& evaluation) {
    std::string text;
    for (const Measurement& one : evaluation.measurements) {
        text += fmt::format("- {}: {} ({} to {}), {:.0f} GB/s", shown(Axes(one.axes)), shown_time(one.median_ns),
                            shown_time(one.low_ns), shown_time(one.high_ns), one.bytes_per_ns);
        if (one.share_of_peak)
            text += fmt::format(", {} of the card's measured bandwidth", shown_share(one.share_of_peak));
        if (one.floor_ns > 0)
            text += fmt::format("; by {} no right kernel is much below {}", one.floor_of, shown_time(one.floor_ns));
        if (!one.unstable.empty()) text += "; unstable: " + one_line(one.unstable, 120);
        text += "\n";
    }
    return text;
}

std::string resources(const Resources& used) {
    if (used.registers == 0) return "";
    return fmt::format(
        "Machine code: {} registers a thread, {} bytes spilled, {} bytes of static shared memory, "
        "{} bytes of stack.\n",
        used.registers, used.spill_bytes, used.shared_bytes, used.local_bytes);
}

std::string line_of(const Evaluation& evaluation) {
    std::string text = fmt::format("- {} ({}", short_digest(evaluation.digest), name(evaluation.origin));
    if (!evaluation.parent.empty())
        text +=
            " of " + one_line(evaluation.parent.size() == 64 ? short_digest(evaluation.parent) : evaluation.parent, 60);
    text += ")";
    if (!evaluation.idea.empty()) text += " " + one_line(evaluation.idea, kMostIdeaBytes);
    if (!evaluation.tunables.empty()) text += "; " + one_line(shown_point(evaluation.tunables), 120);
    text += fmt::format(": {}", name(evaluation.outcome));
    if (evaluation.outcome == Outcome::correct)
        text += fmt::format(", {} {}", evaluation.median_ns ? "median" : "estimate", shown_cost(evaluation));
    else
        text += ": " + one_line(reason(evaluation), kMostIdeaBytes);
    return text + "\n";
}

}  // namespace

std::string findings(const Evaluation& evaluation, const Task& task) {
    std::string text;
    if (evaluation.median_ns)
        text +=
            fmt::format("Median over the workloads: {}.\n{}", shown_time(*evaluation.median_ns), measured(evaluation));
    else if (evaluation.estimate)
        text += fmt::format(
            "Estimate from what the virtual GPU counted: {} (lower is better; near to nanoseconds of an "
            "H200, a launch alone is about 1200; it ranks kernels and is no time).\n",
            shown_cost(evaluation));
    for (const Axes& axes : task.bench)
        text += fmt::format("At {} {} must be moved.\n", shown(axes),
                            shown_bytes(static_cast<double>(bytes_of(task, axes))));
    text += resources(evaluation.resources);
    if (const std::string code = shown(evaluation.facts); !code.empty()) text += fmt::format("Code: {}.\n", code);
    if (!evaluation.profile.empty())
        text += "What the virtual GPU counted, by source line, and its advice:\n" +
                fenced(shown_text(evaluation.profile, kMostProfileBytes));
    return text;
}

std::string tried(std::span<const Evaluation> screened) {
    std::vector<const Evaluation*> right, failed;
    for (const Evaluation& one : screened) (one.outcome == Outcome::correct ? right : failed).push_back(&one);
    std::stable_sort(right.begin(), right.end(),
                     [](const Evaluation* a, const Evaluation* b) { return ranks_before(*a, *b); });
    std::string text;
    for (size_t i = 0; i < std::min(right.size(), kMostRight); ++i) text += line_of(*right[i]);
    if (right.size() > kMostRight)
        text += fmt::format("- and {} slower ones that are right\n", right.size() - kMostRight);
    for (size_t i = failed.size() - std::min(failed.size(), kMostFailed); i < failed.size(); ++i)
        text += line_of(*failed[i]);
    return text.empty() ? "" : fenced(text);
}

}  // namespace recuda
