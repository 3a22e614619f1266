// Where cuBLASLt is.
#pragma once

#include "build/toolchain.h"

namespace recuda {

/// libcublasLt, which only the baseline `cublaslt` needs: looked for in the folders of the toolchain, then in Python's
/// site-packages. Looks once, remembers for the process.
const Tool& cublas_lt();

}  // namespace recuda
