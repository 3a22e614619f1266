// The last look at a candidate: does its PTX keep state in device memory, allocate some, or launch kernels?
//
// PTX does not say const: `__device__ const float t[4]`, a constexpr table, the text of a printf and `__device__ int g`
// all become `.global`. What tells them apart here is what is done with them. A `.global` variable is accepted when the
// compiler declared it (before the first function body; inline assembly can only declare behind it), it is not managed,
// and no instruction of the module writes through its address: addresses are followed from `mov` and `cvta` through
// registers, in whatever order the instructions stand, and an address that goes where it cannot be followed (stored
// to memory, passed to a function) counts as written, except that of a text the compiler made ($str for printf). The
// same holds for `.const`, whose generic address can be written through. A variable that is declared without const and
// only read passes here; screen.h refuses it by the text.
#pragma once

#include <string>
#include <string_view>

namespace recuda {

/// Why the PTX is refused, or "".
std::string screen_ptx(std::string_view ptx);

}  // namespace recuda
