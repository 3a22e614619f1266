#include "device/vgpu/ptx/expression.h"

#include <array>
#include <bit>
#include <string_view>

namespace recuda::vgpu::ptx {
namespace {

constexpr int kMaxDepth = 256;

using Kind = Constant::Kind;

Constant integer(uint64_t bits, bool is_unsigned = false) { return {Kind::integer, bits, is_unsigned}; }
Constant real(double value) { return {Kind::real, std::bit_cast<uint64_t>(value), false}; }
bool is_true(const Constant& value) { return value.kind == Kind::integer ? value.bits != 0 : value.real() != 0; }

struct Operator {
    std::string_view text;
    int precedence;  // the larger binds the tighter
};

// Longer spellings before their prefixes.
constexpr std::array<Operator, 18> kOperators{{{"||", 1},
                                               {"&&", 2},
                                               {"==", 6},
                                               {"!=", 6},
                                               {"<=", 7},
                                               {">=", 7},
                                               {"<<", 8},
                                               {">>", 8},
                                               {"|", 3},
                                               {"^", 4},
                                               {"&", 5},
                                               {"<", 7},
                                               {">", 7},
                                               {"+", 9},
                                               {"-", 9},
                                               {"*", 10},
                                               {"/", 10},
                                               {"%", 10}}};

class Parser {
 public:
    explicit Parser(Cursor& cursor) : cursor_(cursor) {}

    Constant conditional() {
        const Depth depth(*this);
        const Constant condition = binary(1);
        if (!cursor_.accept('?')) return condition;
        const Constant yes = conditional();
        cursor_.expect(':');
        const Constant no = conditional();
        return is_true(condition) ? yes : no;
    }

 private:
    // Bounds the recursion against hostile text.
    struct Depth {
        explicit Depth(Parser& parser) : parser(parser) {
            if (++parser.depth_ > kMaxDepth)
                parser.cursor_.fail("a constant expression nested deeper than {}", kMaxDepth);
        }
        ~Depth() { --parser.depth_; }
        Parser& parser;
    };

    const Operator* accept_operator(int at_least) {
        const char c = cursor_.peek();
        if (c == '|' && cursor_.peek_after(1) != '|' && at_least > 3) return nullptr;
        // A '%' that begins a name is no remainder.
        if (c == '%' && begins_word(cursor_.peek_after(1))) return nullptr;
        for (const Operator& candidate : kOperators) {
            if (candidate.text[0] != c) continue;
            if (candidate.text.size() == 2 && cursor_.peek_after(1) != candidate.text[1]) continue;
            if (candidate.precedence < at_least) return nullptr;
            cursor_.accept(candidate.text);
            return &candidate;
        }
        return nullptr;
    }

    Constant binary(int at_least) {
        Constant left = unary();
        while (const Operator* op = accept_operator(at_least)) {
            const Depth depth(*this);
            const Constant right = binary(op->precedence + 1);
            left = left.kind == Kind::integer && right.kind == Kind::integer ? integers(op->text, left, right)
                                                                             : reals(op->text, left, right);
        }
        return left;
    }

    Constant unary() {
        const Depth depth(*this);
        if (cursor_.accept('+')) return unary();
        if (cursor_.accept('-')) return negated(unary());
        if (cursor_.accept('!')) return integer(!is_true(unary()));
        if (cursor_.accept('~')) {
            const Constant value = unary();
            if (value.kind != Kind::integer) cursor_.fail("'~' of a float");
            return integer(~value.bits, value.is_unsigned);
        }
        return primary();
    }

    Constant primary() {
        if (cursor_.accept('(')) {
            const std::string_view cast = cursor_.accept_directive();
            if (!cast.empty()) return casted(cast);
            const Constant inner = conditional();
            cursor_.expect(')');
            return inner;
        }
        const char c = cursor_.peek();
        if (begins_word(c)) {
            const std::string_view word = cursor_.accept_word();
            if (word != "WARP_SZ") cursor_.fail("'{}' is no constant", word);
            return integer(kWarpSize);
        }
        if (!is_digit(c) && !(c == '.' && is_digit(cursor_.peek_after(1)))) {
            cursor_.fail("expected a constant, not {}", printable(c));
        }
        const Cursor::Number number = cursor_.number();
        switch (number.kind) {
            case Cursor::Number::Kind::single:
                return {Kind::single, number.bits, false};
            case Cursor::Number::Kind::real:
                return {Kind::real, number.bits, false};
            default:
                return integer(number.bits, number.is_unsigned || number.bits >> 63);
        }
    }

    Constant casted(std::string_view type) {
        if (type != "s64" && type != "u64") cursor_.fail("a cast to .{}", type);
        cursor_.expect(')');
        const Constant value = unary();
        if (value.kind != Kind::integer) cursor_.fail("a cast of a float");
        return integer(value.bits, type == "u64");
    }

    static Constant negated(const Constant& value) {
        if (value.kind == Kind::single) return {Kind::single, value.bits ^ 0x80000000u, false};
        if (value.kind == Kind::real) return {Kind::real, value.bits ^ (uint64_t{1} << 63), false};
        return integer(0 - value.bits, value.is_unsigned);
    }

    Constant integers(std::string_view op, const Constant& left, const Constant& right) {
        const bool is_unsigned = left.is_unsigned || right.is_unsigned;
        const uint64_t a = left.bits, b = right.bits;
        const auto sa = static_cast<int64_t>(a), sb = static_cast<int64_t>(b);
        if (op == "||") return integer(a || b);
        if (op == "&&") return integer(a && b);
        if (op == "==") return integer(a == b);
        if (op == "!=") return integer(a != b);
        if (op == "<") return integer(is_unsigned ? a < b : sa < sb);
        if (op == ">") return integer(is_unsigned ? a > b : sa > sb);
        if (op == "<=") return integer(is_unsigned ? a <= b : sa <= sb);
        if (op == ">=") return integer(is_unsigned ? a >= b : sa >= sb);
        if (op == "<<") return integer(b < 64 ? a << b : 0, left.is_unsigned);
        if (op == ">>") return integer(shifted_right(left, b), left.is_unsigned);
        if (op == "|") return integer(a | b, is_unsigned);
        if (op == "^") return integer(a ^ b, is_unsigned);
        if (op == "&") return integer(a & b, is_unsigned);
        if (op == "+") return integer(a + b, is_unsigned);
        if (op == "-") return integer(a - b, is_unsigned);
        if (op == "*") return integer(a * b, is_unsigned);
        if (b == 0) cursor_.fail("a division by zero");
        const bool quotient = op == "/";
        if (is_unsigned) return integer(quotient ? a / b : a % b, true);
        if (sb == -1) return integer(quotient ? 0 - a : 0);
        return integer(static_cast<uint64_t>(quotient ? sa / sb : sa % sb));
    }

    static uint64_t shifted_right(const Constant& value, uint64_t by) {
        if (value.is_unsigned) return by < 64 ? value.bits >> by : 0;
        return static_cast<uint64_t>(static_cast<int64_t>(value.bits) >> (by < 64 ? by : 63));
    }

    Constant reals(std::string_view op, const Constant& left, const Constant& right) {
        const double a = left.real(), b = right.real();
        if (op == "+") return real(a + b);
        if (op == "-") return real(a - b);
        if (op == "*") return real(a * b);
        if (op == "/") return real(a / b);
        if (op == "<") return integer(a < b);
        if (op == ">") return integer(a > b);
        if (op == "<=") return integer(a <= b);
        if (op == ">=") return integer(a >= b);
        if (op == "==") return integer(a == b);
        if (op == "!=") return integer(a != b);
        if (op == "||") return integer(a != 0 || b != 0);
        if (op == "&&") return integer(a != 0 && b != 0);
        cursor_.fail("'{}' of a float", op);
    }

    Cursor& cursor_;
    int depth_ = 0;
};

}  // namespace

double Constant::real() const {
    if (kind == Kind::single) return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    if (kind == Kind::real) return std::bit_cast<double>(bits);
    return is_unsigned ? static_cast<double>(bits) : static_cast<double>(static_cast<int64_t>(bits));
}

Constant constant_expression(Cursor& cursor) { return Parser(cursor).conditional(); }

bool begins_constant(char c, char next) {
    return is_digit(c) || c == '-' || c == '+' || c == '~' || c == '(' || (c == '.' && is_digit(next)) ||
           (c == '!' && !begins_word(next));
}

}  // namespace recuda::vgpu::ptx
