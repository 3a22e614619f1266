#include "report/measured.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "report/table.h"
#include "task/task.h"

namespace recuda {
namespace {

// An empty launch takes one to three microseconds, so that traffic of less than one is no longer what a median shows.
constexpr double kLeastTrafficNs = 1000;

/// Baselines in the order in which they were compared.
std::vector<std::string> baselines_of(const Evaluation& best) {
    std::vector<std::string> names;
    for (const Comparison& comparison : best.comparisons)
        if (comparison.axes.empty()) names.push_back(comparison.baseline);
    return names;
}

std::string ratio_cell(const Evaluation& best, const std::string& baseline, const Axes& axes) {
    for (const Comparison& comparison : best.comparisons)
        if (comparison.baseline == baseline && comparison.axes == axes && std::isfinite(comparison.ratio))
            return fmt::format("{:.2f}x ({:.2f} to {:.2f})", comparison.ratio, comparison.low, comparison.high);
    return "-";
}

std::vector<std::string> row_of(const std::string& kernel, const Measurement& measurement) {
    return {shown(measurement.axes),
            kernel,
            shown_bytes(static_cast<double>(measurement.bytes)),
            shown_time(measurement.median_ns),
            shown_time(measurement.low_ns) + " to " + shown_time(measurement.high_ns),
            fmt::format("{:.{}f}", measurement.bytes_per_ns, measurement.bytes_per_ns < 99.5 ? 1 : 0),
            shown_share(measurement.share_of_peak),
            std::to_string(measurement.samples_ns.size())};
}

Table table_of(const Evaluation& best) {
    Table table{.titles = {"workload", "kernel", "bytes", "median", "95 % interval", "GB/s", "share", "samples"},
                .right = {false, false, true, true, true, true, true, true}};
    const std::vector<std::string> baselines = baselines_of(best);
    for (const std::string& baseline : baselines) {
        table.titles.push_back("speed over " + baseline);
        table.right.push_back(true);
    }
    for (const Measurement& measurement : best.measurements) {
        std::vector<std::string> row = row_of("best", measurement);
        for (const std::string& baseline : baselines) row.push_back(ratio_cell(best, baseline, measurement.axes));
        table.rows.push_back(std::move(row));
        for (const BaselineMeasurement& other : best.baseline_measurements) {
            if (other.measurement.axes != measurement.axes) continue;
            row = row_of(other.baseline, other.measurement);
            row.resize(table.titles.size(), "-");
            table.rows.push_back(std::move(row));
        }
    }
    return table;
}

std::string remarks(const Evaluation& best) {
    std::string text;
    const auto add = [&](const std::string& kernel, const Measurement& measurement) {
        if (!measurement.unstable.empty())
            text += fmt::format("- {} at {} is unstable: {}\n", kernel, shown(measurement.axes), measurement.unstable);
    };
    for (const Measurement& measurement : best.measurements) add("best", measurement);
    for (const BaselineMeasurement& other : best.baseline_measurements) add(other.baseline, other.measurement);
    for (const Measurement& measurement : best.measurements) {
        if (!measurement.share_of_peak || *measurement.share_of_peak <= 0) continue;
        const double traffic_ns = *measurement.share_of_peak * measurement.median_ns;
        if (traffic_ns < kLeastTrafficNs)
            text += fmt::format(
                "- {} moves {}, {} of this memory's time: its median is launch and latency, and its share says nothing "
                "of how well the kernel uses the memory\n",
                shown(measurement.axes), shown_bytes(static_cast<double>(measurement.bytes)), shown_time(traffic_ns));
    }
    if (best.proofs.empty())
        text += "- all of it is one session: a screening, not a proof\n";
    else
        text +=
            "- times are of the sessions of the proof, each with a fresh process, memory and inputs; ratios come from "
            "samples taken in turns with the baseline, not from the medians of this table\n";
    for (const Measurement& measurement : best.measurements) {
        if (!measurement.warm_ns) continue;
        text += fmt::format("- best at {} on warm data: {}", shown(measurement.axes), shown_time(*measurement.warm_ns));
        if (measurement.floor_ns > 0)
            text += fmt::format("; cold data cannot be done with much faster than {}, by {}",
                                shown_time(measurement.floor_ns), measurement.floor_of);
        text += "\n";
    }
    for (const Measurement& measurement : best.measurements)
        text += fmt::format("- method at {}: {}\n", shown(measurement.axes), measurement.method);
    for (const BaselineMeasurement& other : best.baseline_measurements)
        text += fmt::format("- method of {} at {}: {}\n", other.baseline, shown(other.measurement.axes),
                            other.measurement.method);
    return text;
}

}  // namespace

std::string measured(const Evaluation& best) {
    if (best.measurements.empty()) return "";
    return "\nMeasured. GB/s is the least traffic of the op over the median; share is that of the memory bandwidth "
           "measured on this card when the session began:\n\n" +
           markdown(table_of(best)) + "\n" + remarks(best);
}

std::string compared(const Evaluation& best) {
    if (best.comparisons.empty()) return "";
    std::string text = "\nCompared:\n\n";
    for (const Comparison& comparison : best.comparisons) {
        text += fmt::format("- {}: {}{}", comparison.axes.empty() ? "all workloads" : shown(comparison.axes),
                            shown(comparison), comparison.evidence.empty() ? "" : "; " + comparison.evidence);
        if (comparison.ships)
            text += *comparison.ships ? "; ships: faster on the whole, and nowhere slower by 2 %"
                                      : "; does not ship: not faster on the whole, or perhaps slower somewhere";
        text += "\n";
    }
    return text;
}

std::string shown_peaks(const Json& peaks) {
    if (peaks.contains("problem"))
        return fmt::format("- memory bandwidth was not measured: {}\n", peaks.at("problem").get<std::string>());
    std::string text;
    for (const char* kind : {"read", "copy"}) {
        const Json& one = peaks.at(kind);
        text += fmt::format("- measured memory bandwidth, {}: {:.0f} GB/s ({:.0f} to {:.0f}; {} samples, {} a run)\n",
                            kind, number_from_json(one.at("bytes_per_ns")), number_from_json(one.at("low")),
                            number_from_json(one.at("high")), one.at("samples_ns").size(),
                            shown_bytes(one.at("bytes").get<double>()));
    }
    // Runs of the first version have no such rate.
    if (const Json mma = peaks.value("mma", Json::object()); mma.contains("flops_per_ns"))
        text += fmt::format("- measured matrix rate: {:.1f} TFLOP/s ({:.1f} to {:.1f}; {} samples, {}{})\n",
                            number_from_json(mma.at("flops_per_ns")) / 1e3, number_from_json(mma.at("low")) / 1e3,
                            number_from_json(mma.at("high")) / 1e3, mma.at("samples_ns").size(),
                            mma.at("instruction").get<std::string>(),
                            mma.at("full_rate").get<bool>() ? "" : ", which is not the card's fastest");
    return text;
}

}  // namespace recuda
