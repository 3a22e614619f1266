#include "base/expression.h"

#include <gtest/gtest.h>

namespace recuda {
namespace {

struct Case {
    const char* text;
    int64_t value;
};

class ExpressionValue : public testing::TestWithParam<Case> {};

TEST_P(ExpressionValue, IsAsInC) {
    const Variables variables{{"T", 7}, {"H", 2688}, {"BLOCK", 96}};
    EXPECT_EQ(Expression(GetParam().text).evaluate(variables), GetParam().value);
}

INSTANTIATE_TEST_SUITE_P(Table, ExpressionValue,
                         testing::Values(Case{"42", 42}, Case{"H / 8", 336}, Case{"ceil_div(H / 8, BLOCK)", 4},
                                         Case{"ceil_div(-7, 2)", -3}, Case{"2 + 3 * 4 - 5 % 3", 12},
                                         Case{"-(2 + 3) * 2", -10}, Case{"-7 / 2", -3}, Case{"!0 + !5", 1},
                                         Case{"H % 8 == 0 && T <= 8", 1}, Case{"T > 8 || T < 3", 0},
                                         Case{"10 - 3 - 2", 5}, Case{"pow2_ceil(H)", 4096}, Case{"pow2_ceil(0)", 1},
                                         Case{"pow2_ceil(64)", 64}, Case{"log2(1000)", 9}, Case{"min(3, T, 9)", 3},
                                         Case{"max(T)", 7}, Case{" ( T ) ", 7}, Case{"--T", 7}, Case{"T==7", 1}));

TEST(Expression, KnowsWhatItUsesAndWhere) {
    const Expression expression("T * (H + T)");
    ASSERT_EQ(expression.uses().size(), 3u);
    EXPECT_EQ(expression.uses()[1].name, "H");
    EXPECT_EQ(expression.uses()[1].at, 5u);
}

struct Wrong {
    const char* text;
    size_t at;
    const char* words;
};

class ExpressionErrors : public testing::TestWithParam<Wrong> {};

TEST_P(ExpressionErrors, NameThePlace) {
    const Wrong& wrong = GetParam();
    try {
        Expression(wrong.text).evaluate({{"BLOCK", 0}, {"BIG", INT64_MAX}});
        FAIL() << wrong.text << " has a value";
    } catch (const ExpressionError& error) {
        EXPECT_EQ(error.at, wrong.at) << error.what();
        EXPECT_NE(std::string(error.what()).find(wrong.words), std::string::npos) << error.what();
    }
}

INSTANTIATE_TEST_SUITE_P(
    Table, ExpressionErrors,
    testing::Values(Wrong{"256 +", 5, "missing"}, Wrong{"BLOK", 0, "did you mean BLOCK"},
                    Wrong{"1 / BLOCK", 2, "division by zero"}, Wrong{"1 % BLOCK", 2, "division by zero"},
                    Wrong{"BIG + 1", 4, "64 bits"}, Wrong{"BIG * 2", 4, "64 bits"}, Wrong{"(1", 0, "never closed"},
                    Wrong{"1)", 1, "unexpected"}, Wrong{"", 0, "missing"}, Wrong{"3x", 1, "after a number"},
                    Wrong{"cel_div(1, 2)", 0, "did you mean ceil_div"}, Wrong{"ceil_div(1)", 0, "2 arguments"},
                    Wrong{"99999999999999999999", 0, "64 bits"}, Wrong{"a b", 2, "unexpected"},
                    Wrong{"log2(0)", 0, "not positive"}, Wrong{"1 < 2 == 1", 6, "chained"}));

TEST(Expression, BoundsItsNesting) {
    EXPECT_THROW(Expression(std::string(100'000, '(')), ExpressionError);
    EXPECT_THROW(Expression(std::string(100'000, '-') + "1"), ExpressionError);
}

}  // namespace
}  // namespace recuda
