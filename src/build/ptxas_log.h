// What ptxas -v says of registers, spills and memory, read into entries and taken out of the log.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kernel/binary.h"

namespace recuda {

/// Fills the resources of the entries that the log names.
void read_resources(std::string_view log, std::span<Entry> entries);

/// The log without the lines of `-v`: warnings and errors stay.
std::string without_resources(std::string_view log);

}  // namespace recuda
