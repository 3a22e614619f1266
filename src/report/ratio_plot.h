// A plot of a proof as SVG: a row for each baseline and workload, a hollow dot for each session's ratio, the mean with
// its interval as a line.
#pragma once

#include <string>

#include "evaluation/evaluation.h"

namespace recuda {

/// "" for an evaluation that was not proven.
std::string ratio_plot_svg(const Evaluation& evaluation);

}  // namespace recuda
