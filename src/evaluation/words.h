// Evaluations in words, as tables and prompts show them.
#pragma once

#include <optional>
#include <string>

#include "evaluation/evaluation.h"

namespace recuda {

/// The first characters of a digest, enough to name it to `show`.
std::string short_digest(const std::string& digest);
/// "3.42 µs"; three digits and the unit that fits.
std::string shown_time(double ns);
/// "16.1 kB", by powers of a thousand.
std::string shown_bytes(double bytes);
/// "14 %", "0.2 %", "-" where there is none.
std::string shown_share(const std::optional<double>& share);
/// "BLOCK=128 VECS=2", "-" without tunables.
std::string shown_point(const Point& point);
/// "1.32x (1.30 to 1.35) FASTER than plain"
std::string shown(const Comparison& comparison);
/// Its median or its estimate, "-" where it is not right or has neither.
std::string shown_cost(const Evaluation& evaluation);
/// What to say of a candidate that is not right, in one line: its first report, the failing workload, or the log.
std::string reason(const Evaluation& evaluation);

}  // namespace recuda
