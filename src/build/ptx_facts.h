// What stands in a PTX text, as evidence (kernel/facts.h): one look at every instruction, each by its opcode, its
// modifiers and the special registers among its operands.
#pragma once

#include <string_view>

#include "kernel/facts.h"

namespace recuda {

/// `file` is the base name of the source, whose lines are given. Takes a few milliseconds for 100 KiB of PTX.
Facts ptx_facts(std::string_view ptx, std::string_view file);

}  // namespace recuda
