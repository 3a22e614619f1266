// The words of PTX ISA 9.0: what tells text that is not PTX from PTX that the virtual GPU does not know.
//
// Source: the sections of chapter 9 for opcodes and modifiers, chapter 10 for special registers; the words were tried
// on ptxas 13.0 and compared with those that CUDA's headers and LLVM's back end for NVPTX write.
#pragma once

#include <string_view>

namespace recuda::vgpu::ptx {

/// The first part of an opcode: "ld", "cp", "mbarrier".
bool is_opcode(std::string_view name);

/// Any later part, types included, of any opcode: "global", "v4", "u32", "L2::128B".
bool is_modifier(std::string_view name);

/// "%tid.x", "%clock64", "%envreg3".
bool is_special_register(std::string_view name);

}  // namespace recuda::vgpu::ptx
