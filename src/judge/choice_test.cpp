#include "judge/choice.h"

#include <gtest/gtest.h>

#include <cmath>

namespace recuda {
namespace {

Finding judged(std::vector<int> chosen, const std::vector<double>& scores) {
    Tensor indices(DType::i32, {1, static_cast<int64_t>(chosen.size())}),
        values(DType::f64, {1, static_cast<int64_t>(scores.size())});
    for (size_t i = 0; i < chosen.size(); ++i) indices.set(static_cast<int64_t>(i), chosen[i]);
    for (size_t i = 0; i < scores.size(); ++i) values.set(static_cast<int64_t>(i), scores[i]);
    return compare_choice("index", indices, values);
}

TEST(Choice, IsJudgedByProperty) {
    const double hair = 0x1p-23;
    struct Row {
        const char* what;
        std::vector<int> chosen;
        std::vector<double> scores;
        bool right;
    };
    const Row rows[] = {
        {"the best in falling order", {2, 0}, {0.5, 0.1, 0.9, 0.3}, true},
        {"rising order", {0, 2}, {0.5, 0.1, 0.9, 0.3}, false},
        {"a better one left out", {2, 3}, {0.5, 0.1, 0.9, 0.3}, false},
        {"twice the same", {2, 2}, {0.5, 0.1, 0.9, 0.3}, false},
        {"no such index", {2, 4}, {0.5, 0.1, 0.9, 0.3}, false},
        {"a negative index", {-1, 2}, {0.5, 0.1, 0.9, 0.3}, false},
        {"a near tie the other way", {1, 0}, {0.5, 0.5 - hair, 0.1}, true},
        {"a near tie left out", {1}, {0.5, 0.5 - hair, 0.1}, true},
        {"an exact tie in order", {0, 1}, {0.5, 0.5, 0.1}, true},
        {"an exact tie the other way", {1, 0}, {0.5, 0.5, 0.1}, false},
        {"the higher of a tie taken", {1}, {0.5, 0.5, 0.1}, false},
        {"the lower of a tie taken", {0, 1}, {0.9, 0.5, 0.5}, true},
        {"all of them", {1, 0}, {1, 2}, true},
        {"masked ones left out", {2, 0}, {0.5, -HUGE_VAL, 0.9, -HUGE_VAL}, true},
        {"a masked one chosen", {2, 1}, {0.5, -HUGE_VAL, 0.9, -HUGE_VAL}, false},
        {"the infinite one first", {1, 2}, {0.5, HUGE_VAL, 0.9, 0.3}, true},
        {"the infinite one left out", {2, 0}, {0.5, HUGE_VAL, 0.9, 0.3}, false},
        {"a better one left out beside a masked one", {2, 3}, {0.5, -HUGE_VAL, 0.9, 0.3}, false},
        {"a tie of masked ones the other way", {2, 1}, {-HUGE_VAL, -HUGE_VAL, 0.9}, false},
        {"scores that are all zero", {0, 1}, {0, 0, 0}, true},
    };
    for (const Row& row : rows) {
        const Finding finding = judged(row.chosen, row.scores);
        EXPECT_EQ(finding.right(), row.right) << row.what << ": " << finding.detail;
        EXPECT_EQ(finding.detail.empty(), row.right) << row.what;
    }
}

}  // namespace
}  // namespace recuda
