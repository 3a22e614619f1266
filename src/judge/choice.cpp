#include "judge/choice.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "judge/inputs.h"

namespace recuda {
namespace {

constexpr double kScoreNoise = 0x1p-20;

struct Row {
    const double* chosen;
    const double* scores;
    int64_t choices, experts;
};

Finding broken(std::string detail) { return {1, 0, "choice", std::move(detail)}; }

/// Whether the indices exist and differ; "" when they do.
std::string malformed(const Row& row, std::vector<bool>& taken) {
    for (int64_t k = 0; k < row.choices; ++k) {
        const double index = row.chosen[k];
        if (!(index >= 0 && index < static_cast<double>(row.experts)))
            return fmt::format("choice {} is {}, outside of 0 to {}", k, index, row.experts - 1);
        if (taken[static_cast<size_t>(index)]) return fmt::format("choice {} repeats index {}", k, index);
        taken[static_cast<size_t>(index)] = true;
    }
    return "";
}

Finding judge_row(const Row& row) {
    std::vector<bool> taken(static_cast<size_t>(row.experts), false);
    if (const std::string fault = malformed(row, taken); !fault.empty()) return broken(fault);
    double scale = 0;
    for (int64_t e = 0; e < row.experts; ++e)
        if (std::isfinite(row.scores[e])) scale = std::fmax(scale, std::fabs(row.scores[e]));
    Finding worst{0, kScoreNoise, "choice", ""};
    // `first` must rank before `second`; what is missing to that is the error.
    const auto demand = [&](int64_t first, int64_t second, const char* what) {
        const double a = row.scores[first], b = row.scores[second];
        if (a == b && first > second)
            return broken(
                fmt::format("{} {} and {} tie at {:.9g}: the lower index comes first", what, first, second, a));
        // Infinite where one of them is and the other not.
        const double error = b > a ? (b - a) / scale : 0;
        Finding finding{error, kScoreNoise, "choice", ""};
        if (!finding.right())
            finding.detail =
                fmt::format("{} {} (score {:.9g}) stands before {} (score {:.9g})", what, first, a, second, b);
        return finding;
    };
    int64_t last = 0;
    for (int64_t k = 0; k < row.choices; ++k) {
        const auto index = static_cast<int64_t>(row.chosen[k]);
        if (k > 0) worst = worse(std::move(worst), demand(last, index, "chosen"));
        last = index;
        // Of the rejected ones only a tie matters here; that none is better follows from the last choice below.
        for (int64_t e = 0; e < index; ++e)
            if (!taken[static_cast<size_t>(e)] && row.scores[e] == row.scores[index])
                worst = worse(std::move(worst), demand(index, e, "chosen"));
    }
    for (int64_t e = 0; e < row.experts && row.choices > 0; ++e)
        if (!taken[static_cast<size_t>(e)]) worst = worse(std::move(worst), demand(last, e, "last chosen"));
    return worst;
}

}  // namespace

Finding compare_choice(const std::string& name, const Tensor& chosen, const Tensor& scores) {
    const std::vector<double> indices = values_of(chosen), values = values_of(scores);
    const int64_t choices = chosen.shape.back(), experts = scores.shape.back();
    Finding worst{0, kScoreNoise, "choice", ""};
    for (int64_t t = 0; t * choices < chosen.size(); ++t) {
        Finding finding = judge_row({indices.data() + t * choices, values.data() + t * experts, choices, experts});
        if (!finding.right()) finding.detail = fmt::format("row {} of {}: {}", t, name, finding.detail);
        worst = worse(std::move(worst), std::move(finding));
    }
    return worst;
}

}  // namespace recuda
