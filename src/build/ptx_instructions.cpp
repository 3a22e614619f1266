#include "build/ptx_instructions.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace recuda {
namespace {

using Tokens = std::span<const PtxToken>;

constexpr size_t kMaxComment = 8192;  // characters, so that a hostile line of many .loc costs no more than its length

/// Splits the tokens of a statement without its ';' at the commas outside brackets.
PtxInstruction instruction_of(Tokens tokens) {
    PtxInstruction instruction;
    if (!tokens.empty() && tokens[0].is("@")) {  // @%p1 or @!%p1
        const size_t skipped = tokens.size() > 1 && tokens[1].is("!") ? 3 : 2;
        tokens = tokens.subspan(std::min(skipped, tokens.size()));
    }
    if (tokens.empty()) return instruction;
    instruction.opcode = tokens[0].text;
    instruction.line = tokens[0].line;
    size_t first = 1;
    int depth = 0;
    for (size_t i = 1; i <= tokens.size(); ++i) {
        if (i < tokens.size()) {
            if (tokens[i].is("{") || tokens[i].is("[") || tokens[i].is("(")) ++depth;
            if (tokens[i].is("}") || tokens[i].is("]") || tokens[i].is(")")) --depth;
            if (depth > 0 || !tokens[i].is(",")) continue;
        }
        if (i > first) instruction.operands.push_back(tokens.subspan(first, i - first));
        first = i + 1;
    }
    return instruction;
}

/// A '}' behind a ';' closes a block; one behind a register closes a vector.
bool closes_block(Tokens tokens, size_t at) {
    return tokens[at - 1].is(";") || tokens[at - 1].is("}") || tokens[at - 1].is(":");
}

uint32_t number(Tokens tokens, size_t at) {
    uint32_t value = 0;
    if (at < tokens.size())
        std::from_chars(tokens[at].text.data(), tokens[at].text.data() + tokens[at].text.size(), value);
    return value;
}

SourceLines::Position position(Tokens tokens, size_t at) {
    return {number(tokens, at), number(tokens, at + 1), number(tokens, at + 2)};
}

/// Index behind `.loc 1 16 0, function_name $L__info_string0 + 12, inlined_at 1 9 3`, which has no ';'.
size_t read_location(Tokens tokens, size_t at, std::string_view ptx, SourceLines* lines) {
    const size_t first = at + 1;
    std::optional<SourceLines::Position> site;
    std::string_view function;
    at += 4;
    while (at + 1 < tokens.size() && tokens[at].is(",")) {
        const bool inlined = tokens[at + 1].is("inlined_at");
        if (inlined) site = position(tokens, at + 2);
        // A label, or a label and a distance from it.
        if (!inlined && at + 2 < tokens.size()) function = tokens[at + 2].text;
        at += inlined ? 5 : 3;
        if (at + 1 < tokens.size() && tokens[at].is("+")) at += 2, function = {};
    }
    if (lines != nullptr) {
        const std::string_view rest = ptx.substr(static_cast<size_t>(tokens[first - 1].text.data() - ptx.data()));
        const size_t length = std::min(rest.find('\n'), kMaxComment);
        lines->locate(position(tokens, first), site ? &*site : nullptr, rest.substr(0, length), function);
    }
    return at;
}

}  // namespace

std::vector<PtxInstruction> ptx_instructions(Tokens tokens, size_t first, size_t end, std::string_view ptx,
                                             SourceLines* lines) {
    std::vector<PtxInstruction> all;
    size_t begin = first;
    for (size_t i = first; i < end; ++i) {
        if (i == begin && tokens[i].is(".loc")) {
            begin = read_location(tokens, i, ptx, lines);
            i = begin - 1;
            continue;
        }
        const PtxToken& token = tokens[i];
        const bool block = i == begin && (token.is("{") || token.is("}"));
        const bool label = token.is(":") && i == begin + 1;
        if (!block && !label && !token.is(";") && !(token.is("}") && closes_block(tokens, i))) continue;
        if (token.is(";") && !tokens[begin].text.starts_with('.')) {
            all.push_back(instruction_of(tokens.subspan(begin, i - begin)));
            if (lines != nullptr) all.back().frame = lines->current();
        }
        begin = i + 1;
    }
    return all;
}

}  // namespace recuda
