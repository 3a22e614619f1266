#include "judge/float_atomics.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"

namespace recuda {
namespace {

/// The opcode with its modifiers at the beginning of a line, behind a guard predicate.
std::string_view opcode_of(std::string_view line) {
    line = trimmed(line);
    if (line.starts_with('@')) line = trimmed(line.substr(std::min(line.size(), line.find_first_of(" \t"))));
    return line.substr(0, line.find_first_of(" \t;"));
}

bool is_float_addition(std::string_view opcode) {
    constexpr std::array<std::string_view, 6> kFloats{"f16", "f16x2", "bf16", "bf16x2", "f32", "f64"};
    const std::vector<std::string_view> parts = split(opcode, '.');
    if (parts[0] != "atom" && parts[0] != "red" && !(parts[0] == "multimem" && parts.size() > 1)) return false;
    const bool adds = std::find(parts.begin(), parts.end(), "add") != parts.end();
    return adds && std::find(kFloats.begin(), kFloats.end(), parts.back()) != kFloats.end();
}

}  // namespace

std::string float_atomic(std::string_view ptx) {
    for (const std::string_view line : split_lines(ptx)) {
        const std::string_view opcode = opcode_of(line);
        if (!opcode.empty() && is_float_addition(opcode)) return std::string(opcode);
    }
    return "";
}

}  // namespace recuda
