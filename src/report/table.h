// Candidates as rows of text, for the terminal and for report.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/run_result.h"

namespace recuda {

struct Table {
    std::vector<std::string> titles;
    std::vector<bool> right;  // columns of numbers, aligned to the right
    std::vector<std::vector<std::string>> rows;
};

/// One row a candidate, best first: rank, short digest, where it comes from, outcome, median or estimate, speed against
/// the first baseline, registers, tunables. `most` rows at most; 0: all.
Table candidate_table(const RunResult& result, size_t most = 0);

std::string aligned(const Table& table);
std::string markdown(const Table& table);

enum class Colours { off, on };

/// What a person sees at the end of a run: the table of the best `most` candidates, how many came out how, the best one
/// and where its file is, why the search ended. Ends with a newline.
std::string summary(const RunResult& result, Colours colours, size_t most = 12);

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
/// What to say of a candidate that is not right, in one line: its first report, the failing workload, or the log.
std::string reason(const Evaluation& evaluation);

}  // namespace recuda
