#include "evaluation/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "task/task.h"

namespace recuda {
namespace {

constexpr size_t kDigits = 12, kReasonBytes = 160;

/// Three digits and the unit that fits.
std::string with_unit(double value, const std::array<const char*, 4>& units) {
    size_t unit = 0;
    while (value >= 999.5 && unit + 1 < units.size()) {
        value /= 1000;
        ++unit;
    }
    const int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return fmt::format("{:.{}f} {}", value, digits, units[unit]);
}

std::string_view preposition(Comparing outcome) {
    switch (outcome) {
        case Comparing::equivalent:
            return "to";
        case Comparing::inconclusive:
            return "against";
        default:
            return "than";
    }
}

}  // namespace

std::string short_digest(const std::string& digest) { return digest.substr(0, kDigits); }

std::string shown_time(double ns) { return with_unit(ns, {"ns", "µs", "ms", "s"}); }

std::string shown_bytes(double bytes) { return with_unit(bytes, {"B", "kB", "MB", "GB"}); }

std::string shown_share(const std::optional<double>& share) {
    if (!share) return "-";
    return fmt::format("{:.{}f} %", 100 * *share, *share < 0.0995 ? 1 : 0);
}

std::string shown_point(const Point& point) {
    std::vector<std::string> parts;
    for (const auto& [name, value] : point) parts.push_back(fmt::format("{}={}", name, value));
    return parts.empty() ? "-" : joined(parts, " ");
}

std::string shown(const Comparison& comparison) {
    if (!std::isfinite(comparison.ratio)) return "not compared with " + comparison.baseline;
    return fmt::format("{:.2f}x ({:.2f} to {:.2f}) {} {} {}", comparison.ratio, comparison.low, comparison.high,
                       name(comparison.outcome), preposition(comparison.outcome), comparison.baseline);
}

std::string reason(const Evaluation& evaluation) {
    std::string text;
    if (!evaluation.verdict.reports.empty()) {
        const Report& report = evaluation.verdict.reports.front();
        text = fmt::format("{} at {}:{}: {}", name(report.check), report.file, report.line, report.message);
    }
    for (const WorkloadVerdict& workload : evaluation.verdict.workloads)
        if (text.empty() && workload.outcome != Outcome::correct)
            text = fmt::format("{} at {} ({})", workload.detail, shown(workload.axes), workload.input);
    if (text.empty()) text = evaluation.verdict.log;
    const auto lines = split_lines(text);
    const auto said =
        std::find_if(lines.begin(), lines.end(), [](std::string_view line) { return !trimmed(line).empty(); });
    if (said == lines.end()) return "";
    const std::string_view line = trimmed(*said);
    return line.size() <= kReasonBytes ? std::string(line) : valid_utf8(line.substr(0, kReasonBytes - 3)) + "…";
}

std::string shown_cost(const Evaluation& evaluation) {
    if (evaluation.outcome != Outcome::correct) return "-";
    if (evaluation.median_ns) return shown_time(*evaluation.median_ns);
    return evaluation.estimate ? fmt::format("{:.4g}", *evaluation.estimate) : "-";
}

}  // namespace recuda
