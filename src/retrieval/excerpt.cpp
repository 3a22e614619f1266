#include "retrieval/excerpt.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/text.h"
#include "retrieval/tokens.h"

namespace recuda {
namespace {

constexpr double kAgain = 0.1;

struct Line {
    size_t at = 0, bytes = 0;
    std::vector<std::pair<std::string, double>> words;  // of the query
};

/// Lines of the text; one longer than the limit becomes several.
std::vector<Line> lines_of(std::string_view text, size_t limit_bytes) {
    std::vector<Line> lines;
    for (size_t at = 0; at < text.size();) {
        const size_t line_end = std::min(text.find('\n', at), text.size() - 1) + 1;
        const size_t end = std::min(line_end, at + limit_bytes);
        lines.push_back({.at = at, .bytes = end - at});
        at = end;
    }
    return lines;
}

double worth(const std::vector<Line>& lines, size_t from, size_t to) {
    double sum = 0;
    std::set<std::string_view> seen;
    for (size_t line = from; line < to; ++line)
        for (const auto& [word, weight] : lines[line].words) sum += seen.insert(word).second ? weight : kAgain * weight;
    return sum;
}

}  // namespace

std::string excerpt(std::string_view text, const std::map<std::string, double>& weight, size_t limit_bytes) {
    std::vector<Line> lines = lines_of(text, limit_bytes);
    for (Line& line : lines)
        for (Token& token : tokens(text.substr(line.at, line.bytes)))
            if (const auto found = weight.find(token.word); found != weight.end())
                line.words.emplace_back(std::move(token.word), found->second);
    size_t best_from = 0, best_to = 0;
    double best = -1;
    for (size_t from = 0, to = 0; from < lines.size(); ++from) {
        to = std::max(to, from);
        while (to < lines.size() && lines[to].at + lines[to].bytes - lines[from].at <= limit_bytes) ++to;
        if (from > 0 && lines[from].words.empty()) continue;
        if (const double sum = worth(lines, from, to); sum > best) best = sum, best_from = from, best_to = to;
    }
    if (lines.empty()) return "";
    const size_t begin = lines[best_from].at, end = lines[best_to - 1].at + lines[best_to - 1].bytes;
    return valid_utf8(trimmed(text.substr(begin, end - begin)));
}

}  // namespace recuda
