// Candidates as rows of text, for the terminal and for report.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evaluation/words.h"
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

}  // namespace recuda
