// Reports for people: with the lines of source they speak of.
#pragma once

#include <string>
#include <string_view>

namespace recuda {

struct Report;

/// The report in a few lines: what, where, who, and the source line with its neighbours.
std::string shown(const Report& report, std::string_view source);

}  // namespace recuda
