// CUDA C++ as a sequence of tokens: enough to tell code from comments and strings, and directives from code.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace recuda {

struct CxxToken {
    enum class Kind { word, string, punctuation, directive } kind;
    std::string text;         // a string with its quotes; a directive from behind its '#' to the end of its line,
                              // continuations joined, comments gone
    uint32_t line = 0;        // from 1
    size_t from = 0, to = 0;  // of a directive: where it lies in the source, its end of line excluded
    bool is(std::string_view other) const { return text == other; }
};

std::vector<CxxToken> cxx_tokens(std::string_view source);

/// The source with blanks for its #line directives: lines count in the file as the user wrote it, in the compiler's
/// messages and tables too.
std::string without_line_directives(std::string source);

}  // namespace recuda
