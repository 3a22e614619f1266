#include "base/expression.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <span>

#include "base/text.h"

namespace recuda {
namespace {

using Values = std::span<const int64_t>;

/// Thrown by operators that have no value; becomes an ExpressionError at the operator's place.
struct NoValue {
    const char* why;
};

/// `value` is a reference because arguments are evaluated in any order: it is read here, after the operation wrote it.
int64_t checked(bool overflowed, const int64_t& value) {
    if (overflowed) throw NoValue{"the value does not fit 64 bits"};
    return value;
}
int64_t add(int64_t a, int64_t b) {
    int64_t sum;
    return checked(__builtin_add_overflow(a, b, &sum), sum);
}
int64_t subtract(int64_t a, int64_t b) {
    int64_t difference;
    return checked(__builtin_sub_overflow(a, b, &difference), difference);
}
int64_t multiply(int64_t a, int64_t b) {
    int64_t product;
    return checked(__builtin_mul_overflow(a, b, &product), product);
}
int64_t divide(int64_t a, int64_t b) {
    if (b == 0) throw NoValue{"division by zero"};
    return b == -1 ? subtract(0, a) : a / b;
}
int64_t remainder(int64_t a, int64_t b) {
    if (b == 0) throw NoValue{"division by zero"};
    return b == -1 ? 0 : a % b;
}
int64_t ceil_div(int64_t a, int64_t b) { return add(divide(a, b), remainder(a, b) != 0 && (a < 0) == (b < 0)); }
int64_t pow2_ceil(int64_t a) {
    if (a > int64_t{1} << 62) throw NoValue{"the value does not fit 64 bits"};
    return a <= 1 ? 1 : static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(a)));
}
int64_t log2_floor(int64_t a) {
    if (a <= 0) throw NoValue{"log2 of a number that is not positive"};
    return std::bit_width(static_cast<uint64_t>(a)) - 1;
}

constexpr uint32_t kAny = 0;

/// Operators and functions, one row each. `level` is the binding strength of a binary operator, 0 for what is not one.
struct Operator {
    std::string_view name;
    int level;
    uint32_t operands;  // kAny: one or more
    int64_t (*apply)(Values);
};

constexpr Operator kOperators[] = {
    {"||", 1, 2, [](Values v) -> int64_t { return v[0] != 0 || v[1] != 0; }},
    {"&&", 2, 2, [](Values v) -> int64_t { return v[0] != 0 && v[1] != 0; }},
    {"<=", 3, 2, [](Values v) -> int64_t { return v[0] <= v[1]; }},
    {">=", 3, 2, [](Values v) -> int64_t { return v[0] >= v[1]; }},
    {"==", 3, 2, [](Values v) -> int64_t { return v[0] == v[1]; }},
    {"!=", 3, 2, [](Values v) -> int64_t { return v[0] != v[1]; }},
    {"<", 3, 2, [](Values v) -> int64_t { return v[0] < v[1]; }},
    {">", 3, 2, [](Values v) -> int64_t { return v[0] > v[1]; }},
    {"+", 4, 2, [](Values v) { return add(v[0], v[1]); }},
    {"-", 4, 2, [](Values v) { return subtract(v[0], v[1]); }},
    {"*", 5, 2, [](Values v) { return multiply(v[0], v[1]); }},
    {"/", 5, 2, [](Values v) { return divide(v[0], v[1]); }},
    {"%", 5, 2, [](Values v) { return remainder(v[0], v[1]); }},
    {"!", 0, 1, [](Values v) -> int64_t { return v[0] == 0; }},
    {"negative", 0, 1, [](Values v) { return subtract(0, v[0]); }},
    {"ceil_div", 0, 2, [](Values v) { return ceil_div(v[0], v[1]); }},
    {"pow2_ceil", 0, 1, [](Values v) { return pow2_ceil(v[0]); }},
    {"log2", 0, 1, [](Values v) { return log2_floor(v[0]); }},
    {"min", 0, kAny, [](Values v) { return *std::min_element(v.begin(), v.end()); }},
    {"max", 0, kAny, [](Values v) { return *std::max_element(v.begin(), v.end()); }},
};
constexpr int kComparison = 3, kStrongest = 5;
constexpr int kDepthLimit = 200;

const Operator* row_of(std::string_view name) {
    for (const Operator& row : kOperators)
        if (row.name == name) return &row;
    return nullptr;
}

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool continues_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

}  // namespace

/// Recursive descent over the binary operators' levels; emits postfix steps as it goes.
class ExpressionParser {
 public:
    ExpressionParser(std::string_view text, Expression& into) : text_(text), into_(into) {}

    void whole() {
        binary(1);
        skip_blank();
        if (at_ < text_.size()) fail(at_, fmt::format("unexpected `{}`", text_.substr(at_, 1)));
    }

 private:
    [[noreturn]] void fail(size_t at, const std::string& what) const { throw ExpressionError(at, what); }

    void skip_blank() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    }

    bool take(char wanted) {
        skip_blank();
        if (at_ >= text_.size() || text_[at_] != wanted) return false;
        ++at_;
        return true;
    }

    void emit(const Operator& row, uint32_t operands, size_t at) {
        into_.steps_.push_back({Expression::Step::Kind::call, &row - kOperators, operands, at});
    }

    const Operator* binary_operator(int level) {
        skip_blank();
        for (const Operator& row : kOperators)
            if (row.level == level && text_.substr(at_).starts_with(row.name)) return &row;
        return nullptr;
    }

    void binary(int level) {
        if (level > kStrongest) return unary();
        binary(level + 1);
        while (const Operator* row = binary_operator(level)) {
            const size_t at = at_;
            at_ += row->name.size();
            binary(level + 1);
            emit(*row, 2, at);
            if (level == kComparison && binary_operator(level) != nullptr)
                fail(at_, "comparisons cannot be chained; use &&");
        }
    }

    void unary() {
        if (++depth_ > kDepthLimit) fail(at_, "the expression is nested too deeply");
        skip_blank();
        const size_t at = at_;
        if (take('-')) {
            unary();
            emit(*row_of("negative"), 1, at);
        } else if (take('!')) {
            unary();
            emit(*row_of("!"), 1, at);
        } else {
            primary();
        }
        --depth_;
    }

    void primary() {
        skip_blank();
        if (at_ >= text_.size()) fail(at_, "a number, a name or `(` is missing at the end");
        if (std::isdigit(static_cast<unsigned char>(text_[at_]))) return number();
        if (starts_name(text_[at_])) return name();
        const size_t at = at_;
        if (!take('(')) fail(at_, fmt::format("expected a number, a name or `(`, found `{}`", text_.substr(at_, 1)));
        binary(1);
        if (!take(')')) fail(at, "this `(` is never closed");
    }

    void number() {
        int64_t value = 0;
        const size_t at = at_;
        while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
            if (__builtin_mul_overflow(value, int64_t{10}, &value) ||
                __builtin_add_overflow(value, int64_t{text_[at_] - '0'}, &value))
                fail(at, "the number does not fit 64 bits");
            ++at_;
        }
        if (at_ < text_.size() && continues_name(text_[at_]))
            fail(at_, fmt::format("unexpected `{}` after a number", text_.substr(at_, 1)));
        into_.steps_.push_back({Expression::Step::Kind::constant, value, 0, at});
    }

    void name() {
        const size_t at = at_;
        while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
        const std::string word(text_.substr(at, at_ - at));
        if (!take('(')) {
            into_.steps_.push_back({Expression::Step::Kind::variable, static_cast<int64_t>(into_.uses_.size()), 0, at});
            into_.uses_.push_back({word, at});
            return;
        }
        const Operator* row = row_of(word);
        if (row == nullptr || row->level != 0 || !starts_name(word[0]) || word == "negative") {
            const std::vector<std::string> known{"ceil_div", "pow2_ceil", "log2", "min", "max"};
            fail(at, fmt::format("there is no function {}{}", word, did_you_mean(word, known)));
        }
        uint32_t operands = 0;
        do {
            binary(1);
            ++operands;
        } while (take(','));
        if (!take(')')) fail(at, fmt::format("the arguments of {} are never closed", word));
        if (row->operands != kAny && operands != row->operands)
            fail(at, fmt::format("{} takes {} argument{}, not {}", word, row->operands, row->operands == 1 ? "" : "s",
                                 operands));
        emit(*row, operands, at);
    }

    std::string_view text_;
    Expression& into_;
    size_t at_ = 0;
    int depth_ = 0;
};

Expression::Expression(std::string_view text) : text_(text) { ExpressionParser(text_, *this).whole(); }

Expression::Expression(int64_t value) : text_(fmt::format("{}", value)), steps_{{Step::Kind::constant, value, 0, 0}} {}

int64_t Expression::evaluate(const Variables& variables) const {
    std::vector<int64_t> stack;
    for (const Step& step : steps_) {
        switch (step.kind) {
            case Step::Kind::constant:
                stack.push_back(step.value);
                break;
            case Step::Kind::variable: {
                const std::string& name = uses_[static_cast<size_t>(step.value)].name;
                const auto found = variables.find(name);
                if (found == variables.end()) {
                    std::vector<std::string> known;
                    for (const auto& [other, value] : variables) known.push_back(other);
                    throw ExpressionError(step.at, fmt::format("unknown name {}{}", name, did_you_mean(name, known)));
                }
                stack.push_back(found->second);
                break;
            }
            case Step::Kind::call: {
                const size_t first = stack.size() - step.operands;
                try {
                    const int64_t value = kOperators[step.value].apply(Values(stack).subspan(first));
                    stack.resize(first);
                    stack.push_back(value);
                } catch (const NoValue& none) {
                    throw ExpressionError(step.at, none.why);
                }
                break;
            }
        }
    }
    return stack.back();
}

}  // namespace recuda
