// Facts of machine code: a cubin through nvdisasm, where there is one, in the compilers' jail and with limits. A cubin
// is made of a candidate's text, so what the disassembler prints is not trusted either.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kernel/facts.h"

namespace recuda {

/// Nothing where there is no disassembler; `problem` says why where there is one and it fails. Starts a process (about
/// a tenth of a second).
std::optional<SassFacts> sass_facts(const std::string& cubin);

/// What `nvdisasm -c` printed, counted.
SassFacts read_sass(std::string_view listing);

}  // namespace recuda
