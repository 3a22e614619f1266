// What a candidate failed at, for the model that is to mend it: the verdict first, then what helps most, with the lines
// of its own file. Bounded; everything that others wrote stands in fences.
//
// Of a compiler's log only messages are shown, never the source that it quotes: that is taken from the candidate's own
// file, so that a file which a candidate tried to include is not shown by the way.
#pragma once

#include <string>
#include <string_view>

namespace recuda {

struct Evaluation;

inline constexpr size_t kMostDiagnosticBytes = 6000;

/// `source` is the candidate's file as the lines of reports count.
std::string diagnostics(const Evaluation& evaluation, std::string_view source);

/// The same of a file that could not be read as a kernel file: "kernel.cu:3:10: …".
std::string diagnostics_of_draft(std::string_view problem, std::string_view source);

/// The first words that name the fault, for a search in the index: "identifier … is undefined", "misaligned".
std::string diagnostic_query(const Evaluation& evaluation);

/// Lines around one of the source, each with its number, that one marked; "" for a line that there is not.
std::string excerpt(std::string_view source, size_t line);

}  // namespace recuda
