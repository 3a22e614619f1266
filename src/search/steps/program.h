// The kernel-search program: the steps that a language model takes in a search, as predictors of DSPy's kind. Their
// instructions are only where the program begins: a saved state takes their place.
//
//   propose.predict   a new kernel from the task alone and what was tried
//   repair.predict    a kernel that failed, with its diagnostics
//   improve.predict   a right kernel, with its findings
//   combine.predict   two right kernels, with theirs
//   explore.*         those of lm/explore.h, which take a proposal's place in the program `rlm`
//
// Each answers with `reasoning` and `kernel`, one or several kernel files in fenced blocks.
#pragma once

#include "lm/program.h"

namespace recuda {

inline constexpr char kPropose[] = "propose.predict", kRepair[] = "repair.predict", kImprove[] = "improve.predict",
                      kCombine[] = "combine.predict";

Program kernel_search_program();

}  // namespace recuda
