#include "report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "report/plot.h"
#include "report/ratio_plot.h"
#include "report/table.h"
#include "store/run_folder.h"

namespace recuda {
namespace {

using testing::HasSubstr;
using testing::Not;

Evaluation right(char c, double estimate, const std::string& stage = "screen") {
    Evaluation evaluation{.digest = std::string(64, c),
                          .task = "t",
                          .origin = Origin::tuner,
                          .parent = "vector.cu",
                          .tunables = {{"BLOCK", 128}}};
    evaluation.estimate = estimate;
    evaluation.stage = stage;
    evaluation.resources.registers = 32;
    return evaluation;
}

RunResult estimated() {
    RunResult result{.run = "20261130-110000-abcdef",
                     .task = "nano30b_rmsnorm",
                     .out_dir = "D",
                     .preset = "offline",
                     .device_kind = "vgpu",
                     .device_name = "virtual GPU",
                     .device_target = "sm_90"};
    Evaluation failed{.digest = std::string(64, 'f'), .outcome = Outcome::build_failed};
    failed.verdict.log = "\nk.cu(3): error: a | b\nmore\n";
    result.evaluations = {right('a', 12, "whole"), right('b', 20), failed};
    result.best = result.evaluations[0];
    result.best->verdict.left_out = result.evaluations[0].verdict.left_out = {"T=2048"};
    result.best_file = "D/best.cu";
    return result;
}

RunResult timed() {
    RunResult result = estimated();
    result.measures_time = true;
    result.device_kind = "cuda";
    for (Evaluation& evaluation : result.evaluations) {
        if (evaluation.outcome != Outcome::correct) continue;
        evaluation.median_ns = 1000 * *evaluation.estimate;
        evaluation.estimate.reset();
        evaluation.measurements = {{.axes = {{"T", 8}},
                                    .median_ns = *evaluation.median_ns,
                                    .low_ns = 0.9 * *evaluation.median_ns,
                                    .high_ns = 1.2 * *evaluation.median_ns,
                                    .bytes = 90'000,
                                    .bytes_per_ns = 90'000 / *evaluation.median_ns,
                                    .share_of_peak = 90 / *evaluation.median_ns}};
        Comparison overall{.baseline = "plain", .outcome = Comparing::faster, .ratio = 1.5, .low = 1.4, .high = 1.6};
        evaluation.comparisons = {overall};
        overall.axes = {{"T", 8}};
        evaluation.comparisons.push_back(overall);
        BaselineMeasurement plain{"plain", evaluation.measurements[0], {}};
        plain.measurement.median_ns *= 1.5;
        plain.measurement.unstable = "times drift";
        evaluation.baseline_measurements = {plain};
    }
    result.best = result.evaluations[0];
    return result;
}

TEST(Table, times_have_three_digits_and_a_unit) {
    const std::pair<double, const char*> cases[] = {{3, "3.00 ns"},     {12.34, "12.3 ns"}, {999.4, "999 ns"},
                                                    {999.6, "1.00 µs"}, {3421, "3.42 µs"},  {2.5e6, "2.50 ms"},
                                                    {7.2e9, "7.20 s"}};
    for (const auto& [ns, wanted] : cases) EXPECT_EQ(shown_time(ns), wanted);
}

TEST(Table, columns_are_aligned_and_empty_ones_left_out) {
    EXPECT_EQ(aligned(candidate_table(estimated())),
              "#  digest        from             outcome             estimate  registers  tunables\n"
              "1  aaaaaaaaaaaa  tuner vector.cu  correct                   12         32  BLOCK=128\n"
              "2  bbbbbbbbbbbb  tuner vector.cu  correct (screened)        20         32  BLOCK=128\n"
              "3  ffffffffffff  user             build_failed               -          -  -\n");
    EXPECT_THAT(aligned(candidate_table(timed())), HasSubstr("12.0 µs  1.50x plain"));
}

TEST(Summary, says_what_came_of_it) {
    const std::string plain = summary(estimated(), Colours::off, 2);
    EXPECT_THAT(plain, HasSubstr("… and 1 more in D/report.md\n"));
    EXPECT_THAT(plain, HasSubstr("3 candidates: 1 build_failed, 2 correct\n"));
    EXPECT_THAT(plain, HasSubstr("best: aaaaaaaaaaaa  D/best.cu\n"));
    EXPECT_THAT(plain, HasSubstr("they are not times"));
    EXPECT_THAT(plain, Not(HasSubstr("\x1b")));
    EXPECT_THAT(summary(estimated(), Colours::on), HasSubstr("\x1b[1m"));
    EXPECT_THAT(summary(timed(), Colours::off), HasSubstr("1.50x (1.40 to 1.60) FASTER than plain"));
    EXPECT_THAT(summary(RunResult{}, Colours::off), HasSubstr("no right kernel was found"));
}

TEST(ReportMarkdown, has_all_of_the_run) {
    const std::string text = report_markdown(estimated(), {.asked = R"({"seed": 7})",
                                                           .environment = "one core",
                                                           .best_source = "a ``` b",
                                                           .notes = {"a note"},
                                                           .has_plot = true});
    for (const char* wanted : {"# nano30b_rmsnorm", "````cuda\na ``` b\n````", "k.cu(3): error: a \\| b", "- T=2048",
                               "An estimate is not a time", "- seed: 7", "one core", "- a note",
                               "![candidates](plot.svg)", "1 build_failed; 2 correct."})
        EXPECT_THAT(text, HasSubstr(wanted));
    EXPECT_THAT(report_markdown(timed(), {}), HasSubstr("10.8 µs to 14.4 µs"));
    EXPECT_THAT(report_markdown(RunResult{}, {}), HasSubstr("No right kernel was found."));
}

TEST(ReportMarkdown, compares_times_workload_by_workload) {
    const std::string text = report_markdown(timed(), {});
    for (const char* wanted :
         {"| workload | kernel | bytes | median | 95 % interval | GB/s | share | samples | speed over plain |",
          "| T=8 | best | 90.0 kB | 12.0 µs | 10.8 µs to 14.4 µs | 7.5 | 0.8 % | 0 | 1.50x (1.40 to 1.60) |",
          "| T=8 | plain | 90.0 kB | 18.0 µs |", "- plain at T=8 is unstable: times drift\n",
          "- T=8 moves 90.0 kB, 90.0 ns of this memory's time: its median is launch and latency"})
        EXPECT_THAT(text, HasSubstr(wanted));
    RunResult unknown = timed();
    unknown.best->measurements[0].share_of_peak.reset();
    EXPECT_THAT(report_markdown(unknown, {}), HasSubstr("| 7.5 | - | 0 |"));
    EXPECT_THAT(summary(timed(), Colours::off),
                HasSubstr("      12.0 µs at T=8: 8 GB/s, 0.8 % of this card's measured bandwidth\n"));
}

TEST(ReportMarkdown, says_what_the_memory_gave) {
    const std::string bandwidth =
        R"({"bytes_per_ns": 4321.4, "low": 4300, "high": 4330, "bytes": 1e9, "samples_ns": [1, 2]})";
    const ReportParts parts{.environment = fmt::format(
                                R"({{"device": "a card", "memory_peaks": {{"read": {0}, "copy": {0}}}}})", bandwidth)};
    const std::string text = report_markdown(timed(), parts);
    EXPECT_THAT(text, HasSubstr("- device: a card\n"));
    EXPECT_THAT(text, HasSubstr("bandwidth, copy: 4321 GB/s (4300 to 4330; 2 samples, 1.00 GB a run)\n"));
    EXPECT_THAT(report_markdown(timed(), {.environment = R"({"memory_peaks": {"problem": "no compiler"}})"}),
                HasSubstr("- memory bandwidth was not measured: no compiler\n"));
}

TEST(Plot, one_mark_a_right_candidate) {
    const std::string svg = plot_svg(timed());
    EXPECT_THAT(svg, HasSubstr("<svg "));
    EXPECT_EQ(std::count(svg.begin(), svg.end(), '<'), std::count(svg.begin(), svg.end(), '>'));
    size_t circles = 0;
    for (size_t at = svg.find("<circle"); at != std::string::npos; at = svg.find("<circle", at + 1)) ++circles;
    EXPECT_EQ(circles, 2u);
    EXPECT_THAT(plot_svg(estimated()), HasSubstr("not a time"));
    EXPECT_EQ(plot_svg(RunResult{}), "");
}

TEST(Plot, a_wide_span_is_logarithmic_and_says_so) {
    RunResult result = estimated();
    result.evaluations[1].estimate = 5000;
    EXPECT_THAT(plot_svg(result), HasSubstr("logarithmic"));
    EXPECT_THAT(plot_svg(estimated()), Not(HasSubstr("logarithmic")));
}

/// The best one proven: three sessions that say 1.5.
RunResult proven() {
    RunResult result = timed();
    Evaluation& best = *result.best;
    Proof& proof = best.proofs.emplace_back();
    proof.baseline = "plain";
    proof.workloads.push_back({.axes = {{"T", 8}}});
    for (const double ratio : {1.48, 1.5, 1.52})
        proof.workloads[0].sessions.push_back(
            {.candidate_ns = {1000}, .baseline_ns = {1000 * ratio}, .log_ratio = std::log(ratio)});
    for (Comparison& comparison : best.comparisons) comparison.proof = true;
    best.comparisons[0].ships = true;
    return result;
}

TEST(ReportMarkdown, a_proof_is_a_claim_and_a_screening_is_none) {
    const std::string text = report_markdown(proven(), {.has_ratio_plot = true});
    for (const char* wanted : {"of its proof)", "ships: faster on the whole", "![sessions of the proof](ratios.svg)",
                               "times are of the sessions of the proof"})
        EXPECT_THAT(text, HasSubstr(wanted));
    EXPECT_THAT(report_markdown(timed(), {}), HasSubstr("no claim)"));
    EXPECT_THAT(summary(timed(), Colours::off), HasSubstr("not proven"));
    EXPECT_THAT(summary(proven(), Colours::off), Not(HasSubstr("not proven")));
}

TEST(RatioPlot, a_dot_a_session_and_a_line_an_interval) {
    const std::string svg = ratio_plot_svg(*proven().best);
    EXPECT_EQ(std::count(svg.begin(), svg.end(), '<'), std::count(svg.begin(), svg.end(), '>'));
    size_t hollow = 0;
    for (size_t at = svg.find("fill=\"none\""); at != std::string::npos; at = svg.find("fill=\"none\"", at + 1))
        ++hollow;
    EXPECT_EQ(hollow, 6u) << "three sessions over all workloads, and at T=8";
    EXPECT_THAT(svg, HasSubstr("plain, all workloads"));
    EXPECT_THAT(svg, HasSubstr("1.500 FASTER"));
    EXPECT_EQ(ratio_plot_svg(*timed().best), "");
}

TEST(WriteReport, lies_in_the_runs_folder) {
    const TemporaryFolder folder;
    RunFolder run(folder.path() / "D", RunFolder::Open::fresh, {.task = "t", .asked = "{}"});
    RunResult result = estimated();
    result.best->file = "best.cu";
    write_atomically(folder.path() / "D/best.cu", "int the_source;\n");
    write_report(run, result, {});
    EXPECT_THAT(read_file(folder.path() / "D/report.md"), HasSubstr("int the_source;"));
    EXPECT_THAT(read_file(folder.path() / "D/plot.svg"), HasSubstr("</svg>"));
}

}  // namespace
}  // namespace recuda
