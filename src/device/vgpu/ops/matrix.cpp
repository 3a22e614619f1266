// ldmatrix, stmatrix and the matrix products mma and wmma.
#include "device/vgpu/decode.h"

namespace recuda::vgpu {

std::span<const OpRow> matrix_rows() { return {}; }

}  // namespace recuda::vgpu
