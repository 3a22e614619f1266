// A plot of candidates as SVG: one row each, best on top, a dot at its median with the interval as a line, or at its
// estimate.
#pragma once

#include <string>
#include <vector>

#include "store/run_result.h"

namespace recuda {

/// Right candidates alone, at most 30; "" when there is none. The axis begins at zero, unless the slowest takes more
/// than twenty times what the fastest does: then it is logarithmic, and says so.
std::string plot_svg(const RunResult& result);

/// How a plot of ours begins: size in pixels, and its title at `left`.
std::string svg_head(double width, double height, double left, const std::string& title);
std::string svg_text(const std::string& text);

}  // namespace recuda
