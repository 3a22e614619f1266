// Tensor maps where a kernel has them: in its parameters, in global memory, or in shared memory to be changed.
#pragma once

#include <cstdint>
#include <optional>

#include "device/vgpu/memory/tensor_map.h"
#include "device/vgpu/warp.h"

namespace recuda::vgpu {

/// One lane reads the tensor map at a generic address, which a copy may use; nullopt after a fault.
std::optional<TensorMapFields> read_tensor_map(Warp& warp, const Instruction& in, uint32_t lane, uint64_t generic);

}  // namespace recuda::vgpu
