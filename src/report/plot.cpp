#include "report/plot.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "report/table.h"

namespace recuda {
namespace {

constexpr size_t kMostRows = 30;
constexpr double kLogFrom = 20;
constexpr double kLabels = 210, kWidth = 560, kRight = 90, kTop = 44, kRow = 20, kBottom = 46;  // pixels
constexpr int kTicks = 5;

struct Mark {
    std::string label;
    double value, low, high;
    bool proven;
};

/// Geometric mean over the workloads of one bound of their intervals.
double bound(const Evaluation& evaluation, double Measurement::*member) {
    double sum = 0;
    for (const Measurement& measurement : evaluation.measurements) sum += std::log(std::max(measurement.*member, 1e-9));
    return std::exp(sum / static_cast<double>(evaluation.measurements.size()));
}

std::vector<Mark> marks_of(const RunResult& result) {
    std::vector<Mark> marks;
    for (const Evaluation& evaluation : result.evaluations) {
        const std::optional<double> value = result.measures_time ? evaluation.median_ns : evaluation.estimate;
        if (evaluation.outcome != Outcome::correct || !value || !(*value > 0) || marks.size() == kMostRows) continue;
        const bool interval = result.measures_time && !evaluation.measurements.empty();
        marks.push_back({short_digest(evaluation.digest) + " " + evaluation.parent, *value,
                         interval ? bound(evaluation, &Measurement::low_ns) : *value,
                         interval ? bound(evaluation, &Measurement::high_ns) : *value, evaluation.stage == "whole"});
    }
    return marks;
}

/// From values to pixels.
class Axis {
 public:
    explicit Axis(const std::vector<Mark>& marks) {
        double least = marks.front().low;
        for (const Mark& mark : marks) {
            least = std::min(least, mark.low);
            high_ = std::max(high_, mark.high);
        }
        logarithmic_ = high_ > kLogFrom * least;
        low_ = logarithmic_ ? least * 0.8 : 0;
        high_ *= 1.05;
    }
    double x(double value) const { return kLabels + kWidth * share(value); }
    double at(double share) const {
        return logarithmic_ ? low_ * std::pow(high_ / low_, share) : low_ + share * (high_ - low_);
    }
    bool is_logarithmic() const { return logarithmic_; }

 private:
    double share(double value) const {
        return logarithmic_ ? std::log(value / low_) / std::log(high_ / low_) : (value - low_) / (high_ - low_);
    }
    double low_ = 0, high_ = 0;
    bool logarithmic_ = false;
};

}  // namespace

std::string svg_text(const std::string& text) {
    std::string safe;
    for (const char c : text) safe += c == '<' ? "&lt;" : c == '&' ? "&amp;" : c == '>' ? "&gt;" : std::string(1, c);
    return safe;
}

std::string svg_head(double width, double height, double left, const std::string& title) {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
        "height=\"{1:.0f}\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        "<text x=\"{2:.0f}\" y=\"22\" font-size=\"14\">{3}</text>\n",
        width, height, left, svg_text(title));
}

std::string plot_svg(const RunResult& result) {
    const std::vector<Mark> marks = marks_of(result);
    if (marks.empty()) return "";
    const Axis axis(marks);
    const double end = kTop + kRow * static_cast<double>(marks.size()), height = end + kBottom;
    const auto value_text = [&](double value) {
        return result.measures_time ? shown_time(value) : fmt::format("{:.3g}", value);
    };
    std::string svg = svg_head(
        kLabels + kWidth + kRight, height, kLabels,
        result.task + ": " +
            (result.measures_time ? "median time with its interval" : "estimate (a number to rank by, not a time)"));
    for (int i = 0; i <= kTicks; ++i) {
        const double value = axis.at(static_cast<double>(i) / kTicks), x = axis.x(value);
        svg += fmt::format(
            "<line x1=\"{0:.1f}\" y1=\"{1:.0f}\" x2=\"{0:.1f}\" y2=\"{2:.0f}\" stroke=\"#ddd\"/>"
            "<text x=\"{0:.1f}\" y=\"{3:.0f}\" text-anchor=\"middle\" fill=\"#555\">{4}</text>\n",
            x, kTop - 6, end, end + 16, value_text(value));
    }
    for (size_t i = 0; i < marks.size(); ++i) {
        const Mark& mark = marks[i];
        const double y = kTop + kRow * (static_cast<double>(i) + 0.5);
        svg += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>", kLabels - 10, y + 4,
                           svg_text(mark.label));
        if (mark.high > mark.low)
            svg += fmt::format(
                "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#333\" stroke-width=\"2\"/>",
                axis.x(mark.low), y, axis.x(mark.high), y);
        svg += fmt::format(
            "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\" stroke=\"#1f6fb4\"/><text x=\"{:.1f}\" "
            "y=\"{:.0f}\" "
            "fill=\"#555\">{}</text>\n",
            axis.x(mark.value), y, mark.proven ? "#1f6fb4" : "white", axis.x(mark.high) + 9, y + 4,
            value_text(mark.value));
    }
    return svg + fmt::format(
                     "<text x=\"{:.0f}\" y=\"{:.0f}\" fill=\"#555\">filled: judged on all workloads; hollow: "
                     "screened{}</text>\n</svg>\n",
                     kLabels, end + 36, axis.is_logarithmic() ? "; logarithmic axis" : "");
}

}  // namespace recuda
