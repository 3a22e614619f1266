// Which Python has PyTorch, for the baselines that run in it.
#pragma once

#include "build/toolchain.h"

namespace recuda {

/// RECUDA_PYTHON where it is set, else the Python of the Triton adapter, else `python3`: the first that can import
/// torch. `path` is the interpreter, `version` PyTorch's, with "(sees no GPU)" where that is so. Imports torch once a
/// process, which takes seconds.
const Tool& torch_python();

}  // namespace recuda
