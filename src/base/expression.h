// Integer expressions of launch plans, shapes and costs: `ceil_div(H, 8 * BLOCK)`, `T <= 8 && H % 8 == 0`.
//
//   expression := or ; or := and {"||" and} ; and := comparison {"&&" comparison}
//   comparison := sum [("<"|"<="|">"|">="|"=="|"!=") sum] ; sum := product {("+"|"-") product}
//   product := unary {("*"|"/"|"%") unary} ; unary := ["-"|"!"] primary
//   primary := integer | name | name "(" expression {"," expression} ")" | "(" expression ")"
//
// Values are 64-bit signed integers, checked: overflow, division by zero and unknown names are errors. Division and
// remainder truncate as in C. Functions: ceil_div(a, b), pow2_ceil(a) (the next power of two), min(a, …), max(a, …),
// log2(a) (floor).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace recuda {

using Variables = std::map<std::string, int64_t, std::less<>>;

/// What is wrong with an expression, and where: `at` counts bytes from its beginning.
class ExpressionError : public Error {
 public:
    ExpressionError(size_t at, const std::string& what) : Error("{}", what), at(at) {}
    size_t at;
};

class Expression {
 public:
    /// Parses the whole text; throws ExpressionError.
    explicit Expression(std::string_view text);
    explicit Expression(int64_t value);

    /// Throws ExpressionError for an unknown name (with the nearest known one), overflow and division by zero.
    int64_t evaluate(const Variables& variables) const;

    /// Names of the variables it uses, each with its place in the text.
    struct Use {
        std::string name;
        size_t at;
    };
    const std::vector<Use>& uses() const { return uses_; }
    const std::string& text() const { return text_; }

 private:
    friend class ExpressionParser;
    /// Postfix program: operands push, operators pop.
    struct Step {
        enum class Kind { constant, variable, call } kind;
        int64_t value;  // constant; index into uses_; index of the operator's row
        uint32_t operands;
        size_t at;
    };
    std::string text_;
    std::vector<Step> steps_;
    std::vector<Use> uses_;
};

}  // namespace recuda
