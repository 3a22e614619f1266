#include "report/table.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "report/model_section.h"
#include "task/task.h"

namespace recuda {
namespace {

/// Columns that a text takes on a terminal: one a code point, which holds for what we print.
size_t width(std::string_view text) {
    return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string padded(const std::string& text, size_t columns, bool right) {
    const std::string blanks(columns - std::min(columns, width(text)), ' ');
    return right ? blanks + text : text + blanks;
}

/// Against the first baseline, over all workloads.
const Comparison* overall(const Evaluation& evaluation) {
    for (const Comparison& comparison : evaluation.comparisons)
        if (comparison.axes.empty()) return &comparison;
    return nullptr;
}

std::string source_of(const Evaluation& evaluation) {
    const std::string parent = evaluation.parent.size() == 64 ? short_digest(evaluation.parent) : evaluation.parent;
    return parent.empty() ? std::string(name(evaluation.origin))
                          : fmt::format("{} {}", name(evaluation.origin), parent);
}

/// The best kernel at the workload that moves most, where bandwidth says most.
std::string largest(const Evaluation& best) {
    const auto found = std::max_element(best.measurements.begin(), best.measurements.end(),
                                        [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
    if (found == best.measurements.end()) return "";
    std::string text = fmt::format("      {} at {}: {:.0f} GB/s", shown_time(found->median_ns), shown(found->axes),
                                   found->bytes_per_ns);
    if (found->share_of_peak)
        text += fmt::format(", {} of this card's measured bandwidth", shown_share(found->share_of_peak));
    return text + "\n";
}

class Painter {
 public:
    explicit Painter(Colours colours) : on_(colours == Colours::on) {}
    std::string bold(const std::string& text) const { return paint("1", text); }
    std::string dim(const std::string& text) const { return paint("2", text); }
    std::string good(const std::string& text) const { return paint("32", text); }

 private:
    std::string paint(const char* code, const std::string& text) const {
        return on_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
    }
    bool on_;
};

std::string counts(const RunResult& result) {
    std::vector<std::string> parts;
    for (const auto& [outcome, count] : result.outcomes()) parts.push_back(fmt::format("{} {}", count, outcome));
    return joined(parts, ", ");
}

std::string ending(const RunResult& result) {
    switch (result.stopped_by) {
        case StoppedBy::candidates:
            return "all candidates that were asked for are judged";
        case StoppedBy::time:
            return "the time limit was reached";
        case StoppedBy::budget:
            return "the budget was spent";
        case StoppedBy::converged:
            return result.exhausted.empty() ? "nothing is left to try" : result.exhausted;
        case StoppedBy::interrupt:
            return "interrupted; --resume goes on from here";
        case StoppedBy::waiting:
            return "an answer is awaited; --resume goes on from here";
    }
    return "";
}

}  // namespace

Table candidate_table(const RunResult& result, size_t most) {
    Table table{.titles = {"#", "digest", "from", "outcome", result.measures_time ? "median" : "estimate", "against",
                           "registers", "tunables"},
                .right = {true, false, false, false, true, false, true, false}};
    for (const Evaluation& evaluation : result.evaluations) {
        if (most != 0 && table.rows.size() == most) break;
        const Comparison* comparison = overall(evaluation);
        std::string outcome(name(evaluation.outcome));
        if (evaluation.outcome == Outcome::correct && evaluation.stage != "whole") outcome += " (screened)";
        table.rows.push_back(
            {std::to_string(table.rows.size() + 1), short_digest(evaluation.digest), source_of(evaluation), outcome,
             shown_cost(evaluation),
             comparison == nullptr || !std::isfinite(comparison->ratio)
                 ? "-"
                 : fmt::format("{:.2f}x {}", comparison->ratio, comparison->baseline),
             evaluation.resources.registers == 0 ? "-" : std::to_string(evaluation.resources.registers),
             shown_point(evaluation.tunables)});
    }
    // A column that says nothing is left out.
    for (size_t column = table.titles.size(); column-- > 0;) {
        if (table.rows.empty() ||
            !std::all_of(table.rows.begin(), table.rows.end(), [&](const auto& row) { return row[column] == "-"; }))
            continue;
        table.titles.erase(table.titles.begin() + static_cast<ptrdiff_t>(column));
        table.right.erase(table.right.begin() + static_cast<ptrdiff_t>(column));
        for (auto& row : table.rows) row.erase(row.begin() + static_cast<ptrdiff_t>(column));
    }
    return table;
}

std::string aligned(const Table& table) {
    std::vector<size_t> widths;
    for (const std::string& title : table.titles) widths.push_back(width(title));
    for (const auto& row : table.rows)
        for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
    std::string text;
    const auto add = [&](const std::vector<std::string>& row) {
        std::string line;
        for (size_t i = 0; i < row.size(); ++i)
            line += (i == 0 ? "" : "  ") + padded(row[i], widths[i], table.right[i]);
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    };
    add(table.titles);
    for (const auto& row : table.rows) add(row);
    return text;
}

std::string markdown(const Table& table) {
    const auto cell = [](const std::string& text) {
        std::string safe;
        for (const char c : text) safe += c == '|' ? "\\|" : c == '\n' ? " " : std::string(1, c);
        return safe;
    };
    std::string text = "|";
    for (const std::string& title : table.titles) text += " " + cell(title) + " |";
    text += "\n|";
    for (const bool right : table.right) text += right ? "---:|" : "---|";
    text += "\n";
    for (const auto& row : table.rows) {
        text += "|";
        for (const std::string& value : row) text += " " + cell(value) + " |";
        text += "\n";
    }
    return text;
}

std::string summary(const RunResult& result, Colours colours, size_t most) {
    const Painter paint(colours);
    std::string text;
    if (!result.evaluations.empty()) {
        const std::string table = aligned(candidate_table(result, most));
        const std::vector<std::string_view> lines = split_lines(table);
        for (size_t i = 0; i < lines.size(); ++i) {
            const std::string line(lines[i]);
            text += (i == 0 ? paint.dim(line) : i == 1 && result.best ? paint.bold(line) : line) + "\n";
        }
        if (result.evaluations.size() > most)
            text += paint.dim(fmt::format("… and {} more in {}/report.md", result.evaluations.size() - most,
                                          result.out_dir)) +
                    "\n";
        text += "\n";
    }
    text += fmt::format("{} candidates: {}\n", result.evaluations.size(),
                        result.evaluations.empty() ? "none" : counts(result));
    if (result.best) {
        text += paint.good(fmt::format("best: {}  {}", short_digest(result.best->digest), result.best_file)) + "\n";
        for (const Comparison& comparison : result.best->comparisons)
            if (comparison.axes.empty()) text += "      " + shown(comparison) + "\n";
        text += largest(*result.best);
        if (result.measures_time && result.best->proofs.empty())
            text += paint.dim("      not proven: its time is of the screening that chose it") + "\n";
        if (!result.measures_time)
            text +=
                paint.dim("      estimates rank candidates by what they make the memory do; they are not times") + "\n";
    } else {
        text += "no right kernel was found\n";
    }
    if (result.model)
        text += fmt::format("model: {} calls, {} tokens{}\n", result.model->calls,
                            result.model->input_tokens + result.model->output_tokens,
                            result.model->against_seed ? "; " + shown(*result.model->against_seed) : "");
    return text + fmt::format("ended: {} ({:.1f} s)\n", ending(result), result.seconds);
}

}  // namespace recuda
