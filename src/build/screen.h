// What a candidate in CUDA C++ may not do, seen before and after the compiler.
//
// Three looks, because each sees what the others cannot:
//   the text      which files it names, and which variables it declares without const (PTX no longer knows);
//   diagnostics   host functions and variables, launches from the device and files that are not CUDA's, after macros:
//   NVRTC knows best; the PTX       what macros and inline assembly hid: variables in global memory that somebody
//   writes (ptx_screen.h).
// The text is read as C++ tokens, comments and strings apart; macros are not expanded.
#pragma once

#include <string>
#include <string_view>

namespace recuda {

/// Why the text is refused, "kernel.cu:12: …", or "".
std::string screen_source(std::string_view source, std::string_view file);

/// Why a source with these diagnostics of NVRTC is refused, or "": then the compiler's no is an ordinary one.
std::string screen_diagnostics(std::string_view log, std::string_view file);

}  // namespace recuda
