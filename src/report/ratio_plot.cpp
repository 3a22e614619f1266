#include "report/ratio_plot.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "report/plot.h"
#include "report/table.h"
#include "task/task.h"

namespace recuda {
namespace {

constexpr double kLabels = 210, kWidth = 560, kRight = 180, kTop = 44, kRow = 24, kBottom = 46;  // pixels
constexpr int kTicks = 5;

struct Row {
    std::string label;
    const Comparison* comparison;
    std::vector<double> ratios;  // of the sessions
};

/// Of the sessions over all workloads: geometric means.
std::vector<double> whole_ratios(const Proof& proof) {
    std::vector<double> ratios;
    for (size_t i = 0; i < proof.workloads.front().sessions.size(); ++i) {
        double sum = 0;
        for (const WorkloadProof& workload : proof.workloads)
            if (i < workload.sessions.size()) sum += workload.sessions[i].log_ratio;
        ratios.push_back(std::exp(sum / static_cast<double>(proof.workloads.size())));
    }
    return ratios;
}

std::vector<double> ratios_at(const Proof& proof, const Axes& axes) {
    if (axes.empty()) return whole_ratios(proof);
    std::vector<double> ratios;
    for (const WorkloadProof& workload : proof.workloads)
        if (workload.axes == axes)
            for (const ProofSession& session : workload.sessions) ratios.push_back(std::exp(session.log_ratio));
    return ratios;
}

std::vector<Row> rows_of(const Evaluation& evaluation) {
    std::vector<Row> rows;
    for (const Proof& proof : evaluation.proofs) {
        if (proof.workloads.empty()) continue;
        for (const Comparison& comparison : evaluation.comparisons)
            if (comparison.proof && comparison.baseline == proof.baseline && std::isfinite(comparison.ratio))
                rows.push_back(
                    {proof.baseline + ", " + (comparison.axes.empty() ? "all workloads" : shown(comparison.axes)),
                     &comparison, ratios_at(proof, comparison.axes)});
    }
    return rows;
}

/// Everything that is drawn, and the ratio of one.
std::pair<double, double> range_of(const std::vector<Row>& rows) {
    double low = 1, high = 1;
    const auto add = [&](double value) {
        if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
    };
    for (const Row& row : rows) {
        add(row.comparison->low), add(row.comparison->high);
        for (const double ratio : row.ratios) add(ratio);
    }
    const double space = std::max(0.01, 0.05 * (high - low));
    return {low - space, high + space};
}

}  // namespace

std::string ratio_plot_svg(const Evaluation& evaluation) {
    const std::vector<Row> rows = rows_of(evaluation);
    if (rows.empty()) return "";
    const auto [low, high] = range_of(rows);
    const auto x = [low = low, high = high](double ratio) {
        return kLabels + kWidth * (std::clamp(ratio, low, high) - low) / (high - low);
    };
    const double end = kTop + kRow * static_cast<double>(rows.size());
    const auto vertical = [&](double ratio, const char* colour) {
        return fmt::format("<line x1=\"{0:.1f}\" y1=\"{1:.0f}\" x2=\"{0:.1f}\" y2=\"{2:.0f}\" stroke=\"{3}\"/>",
                           x(ratio), kTop - 6, end, colour);
    };
    std::string svg =
        svg_head(kLabels + kWidth + kRight, end + kBottom, kLabels, "speed over the baseline, session by session");
    for (int i = 0; i <= kTicks; ++i) {
        const double ratio = low + (high - low) * i / kTicks;
        svg += vertical(ratio, "#ddd") +
               fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\" fill=\"#555\">{:.3f}</text>\n",
                           x(ratio), end + 16, ratio);
    }
    svg += vertical(1, "#c33") + "\n";
    for (size_t i = 0; i < rows.size(); ++i) {
        const Comparison& comparison = *rows[i].comparison;
        const double y = kTop + kRow * (static_cast<double>(i) + 0.5);
        svg += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>", kLabels - 10, y + 4,
                           svg_text(rows[i].label));
        for (const double ratio : rows[i].ratios)
            svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"none\" stroke=\"#1f6fb4\"/>",
                               x(ratio), y - 4);
        svg += fmt::format(
            "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#333\" stroke-width=\"2\"/>"
            "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"#333\"/>"
            "<text x=\"{:.0f}\" y=\"{:.0f}\" fill=\"#555\">{:.3f} {}</text>\n",
            x(comparison.low), y + 5, x(comparison.high), y + 5, x(comparison.ratio), y + 5, kLabels + kWidth + 8,
            y + 4, comparison.ratio, name(comparison.outcome));
    }
    return svg + fmt::format(
                     "<text x=\"{:.0f}\" y=\"{:.0f}\" fill=\"#555\">hollow: one session each; filled: their mean "
                     "with its interval; red: equally fast</text>\n</svg>\n",
                     kLabels, end + 36);
}

}  // namespace recuda
