// NumPy's NPY files, versions 1.0 to 3.0, little-endian, C or Fortran order on reading (NumPy Enhancement Proposal 1).
//
// NPY has no bf16, e4m3 and e5m2: bf16 is written as its bits in `<u2`, the f8 types as `|u1`.
#pragma once

#include <filesystem>

#include "tensor/tensor.h"

namespace recuda {

/// Reads a file; throws Error for what is not NPY, or of a type that has no DType.
Tensor read_npy(const std::filesystem::path& path);

void write_npy(const std::filesystem::path& path, const Tensor& tensor);

}  // namespace recuda
