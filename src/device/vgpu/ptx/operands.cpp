#include "device/vgpu/ptx/operands.h"

#include "device/vgpu/ptx/expression.h"

namespace recuda::vgpu::ptx {
namespace {

constexpr int kMaxDepth = 4;
constexpr size_t kMaxOperands = 64, kMaxElements = 4096;  // far more than any instruction or call has

bool is_sign(char c) { return c == '+' || c == '-'; }

/// Cuts the selector of a video instruction's operand off: `b` or `h` and digits behind the last dot.
std::string_view take_selector(std::string_view& name) {
    const size_t dot = name.rfind('.');
    if (dot == std::string_view::npos || dot + 2 >= name.size()) return {};
    const std::string_view selector = name.substr(dot + 1);
    if (selector[0] != 'b' && selector[0] != 'h') return {};
    if (selector.find_first_not_of("0123456789", 1) != std::string_view::npos) return {};
    name = name.substr(0, dot);
    return selector;
}

}  // namespace

std::vector<Operand> OperandReader::read_all(bool is_call) {
    std::vector<Operand> operands;
    if (cursor_.accept(';')) return operands;
    do {
        if (operands.size() == kMaxOperands) cursor_.fail("more than {} operands", kMaxOperands);
        operands.push_back(operand(is_call, 0));
    } while (cursor_.accept(','));
    cursor_.expect(';');
    return operands;
}

Operand OperandReader::read_guard() {
    Operand guard;
    guard.kind = Operand::Kind::name;
    guard.negated = cursor_.accept('!');
    guard.text = accept_name();
    if (guard.text.empty()) cursor_.fail("a guard without a predicate");
    guard.text = scopes_.resolve(guard.text);
    return guard;
}

std::string_view OperandReader::accept_name() {
    const std::string_view word = cursor_.accept_word();
    if (word.empty()) return word;
    const char* end = word.data() + word.size();
    while (cursor_.peek_after(0) == '.' && is_letter(cursor_.peek_after(1))) {
        const std::string_view component = cursor_.accept_directive();
        end = component.data() + component.size();
    }
    return {word.data(), static_cast<size_t>(end - word.data())};
}

Operand OperandReader::operand(bool is_call, int depth) {
    if (depth > kMaxDepth) cursor_.fail("operands nested deeper than {}", kMaxDepth);
    const char c = cursor_.peek();
    if (c == '{') return list('{', '}', depth + 1);
    if (c == '(' && is_call) return list('(', ')', depth + 1);
    if (c == '[') return address(depth + 1);
    const bool minus = c == '-' && begins_word(cursor_.peek_after(1));
    if (!minus && begins_constant(c, cursor_.peek_after(1))) return constant();
    const bool negated = cursor_.accept('!');
    if (minus) cursor_.accept('-');
    std::string_view text = accept_name();
    if (text.empty()) cursor_.fail("expected an operand, not {}", printable(cursor_.peek()));
    const std::string_view selector = take_selector(text);
    Operand found = name(text);
    found.negated = negated;
    found.minus = minus && found.kind == Operand::Kind::name;
    if (minus && found.kind == Operand::Kind::integer) found.bits = 0 - found.bits;  // -WARP_SZ
    found.selector = selector;
    return found;
}

Operand OperandReader::name(std::string_view text) {
    Operand found;
    if (text == "WARP_SZ") {
        found.kind = Operand::Kind::integer;
        found.bits = kWarpSize;
        return found;
    }
    found.kind = text == "_" ? Operand::Kind::sink : Operand::Kind::name;
    if (found.kind == Operand::Kind::name) found.text = scopes_.resolve(text);
    if (cursor_.accept('|')) {
        const std::string_view second = accept_name();
        if (second.empty()) cursor_.fail("expected a predicate behind '|'");
        Operand half;
        half.kind = second == "_" ? Operand::Kind::sink : Operand::Kind::name;
        if (half.kind == Operand::Kind::name) half.text = scopes_.resolve(second);
        found.elements.push_back(std::move(half));
    } else if (is_sign(cursor_.peek())) {
        found.offset = static_cast<int64_t>(constant_expression(cursor_).bits);
    }
    return found;
}

Operand OperandReader::address(int depth) {
    cursor_.expect('[');
    Operand found;
    found.kind = Operand::Kind::address;
    base(found);
    while (cursor_.accept(',')) {
        if (found.elements.size() >= kMaxElements) cursor_.fail("an address of more than {} parts", kMaxElements);
        Operand extra = operand(false, depth);
        if (extra.kind == Operand::Kind::vector) {
            for (Operand& element : extra.elements) found.elements.push_back(std::move(element));
        } else {
            found.elements.push_back(std::move(extra));
        }
    }
    cursor_.expect(']');
    return found;
}

void OperandReader::base(Operand& operand) {
    const std::string_view text = begins_word(cursor_.peek()) ? accept_name() : std::string_view();
    if (!text.empty()) operand.text = scopes_.resolve(text);
    if (text.empty() || is_sign(cursor_.peek())) {
        const Constant value = constant_expression(cursor_);
        if (value.kind != Constant::Kind::integer) cursor_.fail("an address that is a float");
        operand.offset = static_cast<int64_t>(value.bits);
    }
}

Operand OperandReader::list(char open, char close, int depth) {
    cursor_.expect(open);
    Operand found;
    found.kind = Operand::Kind::vector;
    while (cursor_.peek() != close) {
        if (found.elements.size() == kMaxElements) cursor_.fail("a list of more than {} operands", kMaxElements);
        found.elements.push_back(operand(false, depth));
        if (!cursor_.accept(',')) break;
    }
    cursor_.expect(close);
    return found;
}

Operand OperandReader::constant() {
    const Constant value = constant_expression(cursor_);
    Operand found;
    found.kind = value.kind == Constant::Kind::integer ? Operand::Kind::integer : Operand::Kind::floating;
    found.is_double = value.kind == Constant::Kind::real;
    found.bits = value.bits;
    return found;
}

}  // namespace recuda::vgpu::ptx
