// What PTX allows an instruction to look like: how many operands, of which types, with which modifiers.
//
// Only instructions whose operands follow from their type have a row; of the others, names and words alone are checked
// (check.h). Source: PTX ISA 9.0, chapter 9 and section 9.2 (compatible types); what the text leaves open was tried on
// ptxas 13.0.
#pragma once

#include <string>

#include "device/vgpu/ptx/ptx.h"
#include "device/vgpu/ptx/registers.h"

namespace recuda::vgpu::ptx {

/// Why ptxas would reject the statement, or "". Names that are no registers are not looked at.
std::string form_error(const Statement& statement, const Registers& registers);

}  // namespace recuda::vgpu::ptx
