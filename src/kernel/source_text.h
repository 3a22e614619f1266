// Kernel source as text: which lines are directives.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/kernel_file.h"

namespace recuda {

/// A directive as it stands: `word` and `text` are views into the source; line and columns are 1-based.
struct DirectiveLine {
    std::string_view word, text;
    uint32_t line = 0, column = 0, text_column = 0;
};

/// `//!` or `#!`.
std::string_view directive_mark(Language language);

/// Lines that begin with the mark. Triton's first line may be a `#!/…` for the shell, which is none.
std::vector<DirectiveLine> directive_lines(std::string_view source, Language language);

}  // namespace recuda
