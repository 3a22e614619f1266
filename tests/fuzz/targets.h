// What the fuzzers run on one input, and what the tests run again on every input that once failed.
//
// An input of the first two is PTX as text; behind a NUL byte may follow a tail that chooses launches and buffers
// (launch.h). A finding is a crash, a sanitiser's report, too much time or memory, or an error message that is not one
// short line.
#pragma once

#include <string_view>

namespace recuda::fuzz {

/// The readers of untrusted text: the builder's scan of entries, its screening, the parser; and the decoder.
void try_parser(std::string_view input);

/// Everything: loads the module and runs each of its kernels, with all checks, little fuel and little time.
void try_vgpu(std::string_view input);

/// A model's answer read; what was read must come back when it is written as JSON and read again.
void try_answer(std::string_view input);

/// The text of an input, without its tail.
std::string_view text_of(std::string_view input);

/// Aborts where `message` is not one line of printable UTF-8 that a report can carry.
void expect_line(std::string_view message);

}  // namespace recuda::fuzz
