// Declarations of variables and registers (PTX ISA 9.0, chapter 5): attributes, types, arrays, initialisers.
#pragma once

#include <vector>

#include "device/vgpu/ptx/cursor.h"
#include "device/vgpu/ptx/ptx.h"

namespace recuda::vgpu::ptx {

/// What a declaration says before its names.
struct Attributes {
    Type type = Type::none;
    uint32_t vector = 1;
    uint32_t align = 0;
};

/// Bytes that all initialisers of a module may take together, so that text cannot ask for unbounded memory.
inline constexpr uint64_t kMaxInitialBytes = uint64_t{64} << 20;

/// `.align 8 .v4 .b32`, `.u64 .ptr .global .align 1`, `.attribute(…) .b8`: everything between the space and the first
/// name.
Attributes read_attributes(Cursor& cursor);

/// One `name[2][3] = …` in `space`; `initial_bytes` counts what the module's initialisers take.
Variable read_variable(Cursor& cursor, Space space, const Attributes& attributes, uint64_t& initial_bytes);

/// `name[2] = …, name, …;`
std::vector<Variable> read_variables(Cursor& cursor, Space space, uint64_t& initial_bytes);

/// The rest of `.reg .b32 %r<10>, x, y<2>;`
std::vector<RegisterDeclaration> read_registers(Cursor& cursor);

/// `(.param .b32 x, .reg .u32 y)`; nothing where no '(' stands.
std::vector<Variable> read_parameters(Cursor& cursor);

/// The state space a directive names, `none` where it names none.
Space space_named(std::string_view name);

}  // namespace recuda::vgpu::ptx
