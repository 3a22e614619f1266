#include "search/steps/diagnostics.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/text.h"
#include "evaluation/evaluation.h"
#include "search/steps/brief.h"
#include "task/task.h"

namespace recuda {
namespace {

constexpr size_t kAround = 3, kMostColumns = 200;
constexpr size_t kMostMessages = 6, kMostReports = 4, kMostWorkloads = 3, kMostLogBytes = 1500;

std::string_view meaning(Outcome outcome) {
    switch (outcome) {
        case Outcome::correct:
            return "it is right";
        case Outcome::wrong:
            return "it runs, and an output differs from the reference or was left unwritten";
        case Outcome::faulted:
            return "a check of the device fired while it ran";
        case Outcome::build_failed:
            return "it does not compile";
        case Outcome::launch_refused:
            return "it cannot be launched as its directives say";
        case Outcome::refused:
            return "it does what a candidate may not do";
        case Outcome::timed_out:
            return "it did not end in its time";
        case Outcome::unsupported:
            return "the virtual GPU cannot run an instruction of it";
        case Outcome::impossible:
            return "it is faster than the card can be, so it cannot have done the work";
    }
    return "";
}

/// The line that a message speaks of in a file of this stem: "kernel.cu(12): …", "kernel.cu:12:3: …",
/// "kernel.py", line 12; 0 where it names none.
size_t line_named(std::string_view message) {
    for (const std::string_view extension : {".cu", ".py"})
        for (size_t at = message.find(extension); at != std::string_view::npos; at = message.find(extension, at + 1)) {
            std::string_view rest = message.substr(at + extension.size());
            for (const std::string_view between : {"(", ":", "\", line ", ", line "}) {
                size_t line = 0;
                if (!rest.starts_with(between)) continue;
                const std::string_view digits = rest.substr(between.size());
                std::from_chars(digits.data(), digits.data() + digits.size(), line);
                if (line > 0) return line;
            }
        }
    return 0;
}

bool is_message(std::string_view line) {
    return line.find("error") != std::string_view::npos || line.find("Error") != std::string_view::npos ||
           line_named(line) > 0;
}

/// Messages of a compiler, errors first, without what it quotes.
std::vector<std::string> messages_in(const std::string& log) {
    std::vector<std::string> errors, others;
    for (const std::string_view line : split_lines(log)) {
        if (!is_message(line) || (line.starts_with(' ') && line_named(line) == 0)) continue;
        const bool is_error = line.find("rror") != std::string_view::npos;
        (is_error ? errors : others).push_back(one_line(line));
    }
    errors.insert(errors.end(), others.begin(), others.end());
    return errors;
}

std::string build_section(const std::string& log, std::string_view source) {
    const std::vector<std::string> messages = messages_in(log);
    if (messages.empty()) return log.empty() ? "" : "It was said:\n" + fenced(shown_text(log, kMostLogBytes)) + "\n";
    std::string text = "The first message:\n" + fenced(messages.front());
    if (const std::string lines = excerpt(source, line_named(messages.front())); !lines.empty())
        text += "where your file says:\n" + fenced(lines);
    std::string rest;
    for (size_t i = 1; i < std::min(messages.size(), kMostMessages); ++i) rest += messages[i] + "\n";
    if (!rest.empty()) text += "\nFurther messages:\n" + fenced(rest);
    return text;
}

std::string place(const Dim3& at) { return fmt::format("({},{},{})", at.x, at.y, at.z); }

std::string report_section(const Report& report, std::string_view source) {
    std::string text =
        fmt::format("{} at line {}: {}\nkernel {}, thread {} of block {}", name(report.check), report.line,
                    one_line(report.message), report.kernel, place(report.thread), place(report.block));
    if (!report.buffer.empty())
        text +=
            fmt::format(", buffer {} at byte {} ({} bytes accessed)", report.buffer, report.byte_offset, report.bytes);
    if (report.other)
        text += fmt::format("\nthe other access: line {}, thread {} of block {}", report.other->line,
                            place(report.other->thread), place(report.other->block));
    if (report.count > 1) text += fmt::format("\n{} times in all", report.count);
    text += "\n" + excerpt(source, report.line);
    if (report.other && report.other->line != report.line) text += excerpt(source, report.other->line);
    return fenced(text);
}

std::string workload_section(const Verdict& verdict) {
    std::string text;
    size_t shown_so_far = 0;
    for (const WorkloadVerdict& workload : verdict.workloads) {
        if (workload.outcome == Outcome::correct || shown_so_far == kMostWorkloads) continue;
        ++shown_so_far;
        text += fmt::format("{}, {} inputs: {}; largest error {:.3g} where {:.3g} is allowed\n", shown(workload.axes),
                            workload.input, one_line(workload.detail), workload.max_error, workload.bound);
    }
    return text.empty() ? "" : "Where results differ:\n" + fenced(text);
}

/// Whole sections, as many of them as there is room for: one cut within a fence would leave the fence open.
std::string joined_within_bounds(const std::vector<std::string>& sections) {
    std::string text;
    size_t left_out = 0;
    for (const std::string& section : sections) {
        const bool fits = left_out == 0 && text.size() + section.size() <= kMostDiagnosticBytes;
        if (fits) text += section;
        left_out += fits ? 0 : 1;
    }
    return left_out == 0 ? text : text + fmt::format("({} further parts are left out)\n", left_out);
}

}  // namespace

std::string excerpt(std::string_view source, size_t line) {
    const std::vector<std::string_view> lines = split_lines(source);
    if (line == 0 || line > lines.size()) return "";
    std::string text;
    for (size_t i = line > kAround ? line - kAround : 1; i <= std::min(lines.size(), line + kAround); ++i)
        text += fmt::format("{}{:>5} | {}\n", i == line ? '>' : ' ', i,
                            shown_text(lines[i - 1].substr(0, kMostColumns), kMostColumns));
    return text;
}

std::string diagnostics(const Evaluation& evaluation, std::string_view source) {
    const Verdict& verdict = evaluation.verdict;
    std::vector<std::string> sections{
        fmt::format("Outcome: {}: {}.\n\n", name(evaluation.outcome), meaning(evaluation.outcome))};
    for (size_t i = 0; i < std::min(verdict.reports.size(), kMostReports); ++i)
        sections.push_back(report_section(verdict.reports[i], source));
    sections.push_back(workload_section(verdict));
    const bool is_told = !verdict.reports.empty() || !sections.back().empty();
    if (evaluation.outcome == Outcome::build_failed || evaluation.outcome == Outcome::refused ||
        evaluation.outcome == Outcome::launch_refused)
        sections.push_back(build_section(verdict.log, source));
    else if (!verdict.log.empty())
        sections.push_back("Log:\n" + fenced(shown_text(verdict.log, is_told ? kMostLogBytes / 3 : kMostLogBytes)));
    std::erase(sections, "");
    return joined_within_bounds(sections);
}

std::string diagnostics_of_draft(std::string_view problem, std::string_view source) {
    std::string text = "Outcome: it cannot be read as a kernel file for this task.\n\n" + fenced(one_line(problem));
    if (const std::string lines = excerpt(source, line_named(problem)); !lines.empty())
        text += "where your file says:\n" + fenced(lines);
    return text;
}

std::string diagnostic_query(const Evaluation& evaluation) {
    const Verdict& verdict = evaluation.verdict;
    if (!verdict.reports.empty())
        return fmt::format("{} {}", name(verdict.reports.front().check), one_line(verdict.reports.front().message));
    if (const std::vector<std::string> messages = messages_in(verdict.log); !messages.empty()) return messages.front();
    return fmt::format("{} {}", name(evaluation.outcome), one_line(verdict.log, 200));
}

}  // namespace recuda
