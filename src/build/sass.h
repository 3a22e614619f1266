// Facts of machine code: a cubin through nvdisasm, where there is one, in the compilers' jail and with limits. A cubin
// is made of a candidate's text, so what the disassembler prints is not trusted either.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "kernel/binary.h"
#include "kernel/facts.h"

namespace recuda {

/// All kernels of one build together. Nothing where there is no disassembler or no cubin; `problem` says why where
/// there are and it fails. Starts a process a binary (about a tenth of a second).
std::optional<SassFacts> sass_facts(const std::vector<Binary>& binaries);

/// What `nvdisasm -c` printed, counted.
SassFacts read_sass(std::string_view listing);

}  // namespace recuda
