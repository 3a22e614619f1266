// A kernel's text without what its compiler does not see: the part of it that the digest is made of.
//
// Two files may have one digest only where their compiler cannot tell them apart. So comments go the way that phases 2
// and 3 of C++'s translation (in Python: its tokenizer) take them, a line that a backslash continues stays with what
// follows it, and a literal stays byte for byte. Where a compiler may read a text in another way than it is read here,
// or may see which line something stands at, nothing is taken away.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace recuda {

/// CUDA C++ without comments, blanks at lines' ends and blank lines; none for a text that must stay as it is: with raw
/// strings, trigraphs, literals that do not end, tokens that go over a line's end, line numbers.
std::optional<std::string> stripped_cuda(std::string_view source);

/// Python likewise; none for a text with formatted strings, with a declared encoding, or that may look at its own text.
std::optional<std::string> stripped_python(std::string_view source);

}  // namespace recuda
