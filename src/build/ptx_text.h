// PTX as a sequence of tokens: what the entry scan and the screening share. It knows nothing of instructions; the
// virtual GPU has the full parser.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace recuda {

struct PtxToken {
    enum class Kind { word, string, punctuation } kind;
    std::string_view
        text;  // a word with its dots: "ld.global.u32", ".param", "%rd1", "0f3F800000"; a string with its quotes
    uint32_t line = 0;  // from 1
    bool is(std::string_view other) const { return text == other; }
};

/// The tokens of the text without comments; they point into it.
std::vector<PtxToken> ptx_tokens(std::string_view ptx);

/// Index behind the bracket that closes the one at `open`, or the number of tokens where none does.
size_t behind_bracket(const std::vector<PtxToken>& tokens, size_t open);

}  // namespace recuda
