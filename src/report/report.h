// report.md of a run, with its plot: what was asked, where it ran, the best kernel with its evidence and source, every
// candidate, what failed and why, what was left out, and what the numbers are not.
#pragma once

#include <string>
#include <vector>

#include "report/model_section.h"
#include "store/run_result.h"

namespace recuda {

class RunFolder;

struct ReportParts {
    std::string asked;                 // the options, a JSON object
    std::string environment;           // text or a JSON object
    std::string best_source;           // the text of best.cu or best.py
    std::vector<AskedPrompt> prompts;  // of a language model
    std::vector<std::string> notes;    // what else a reader should know: "none.cu has no legal point for this task"
    bool has_plot = false;             // plot.svg lies beside it
    bool has_ratio_plot = false;       // ratios.svg too
};

std::string report_markdown(const RunResult& result, const ReportParts& parts);

/// Writes report.md, plot.svg and, of a proof, ratios.svg into the run's folder.
void write_report(const RunFolder& folder, const RunResult& result, const std::vector<std::string>& notes);

}  // namespace recuda
