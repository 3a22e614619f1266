// The instructions of PTX functions, each with the line of the user's file that it comes from: what screening and facts
// look at.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "build/ptx_text.h"
#include "kernel/source_lines.h"

namespace recuda {

/// One instruction: its opcode and the tokens of each operand.
struct PtxInstruction {
    std::string_view opcode;
    std::vector<std::span<const PtxToken>> operands;
    uint32_t line = 0;   // of the PTX
    uint32_t frame = 0;  // of `lines`, where that was asked for
};

/// The instructions among tokens [first, end) of a function's body, those in its nested blocks included. With `lines`
/// each `.loc` is told to it; `ptx` is the text that the tokens point into.
std::vector<PtxInstruction> ptx_instructions(std::span<const PtxToken> tokens, size_t first, size_t end,
                                             std::string_view ptx = {}, SourceLines* lines = nullptr);

}  // namespace recuda
