// What a tensor map may be: the conditions of cuTensorMapEncodeTiled (CUDA Driver API, "Tensor Map Object Management"),
// checked by us so that every device refuses alike and says why.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/device.h"

namespace recuda {

/// Why there can be no such tensor map over memory at `address`; "" where there can.
std::string tensor_map_refusal(const TensorMap& map, uint64_t address);

/// The strides in bytes of all dimensions but the innermost: as given, else dense.
std::vector<uint64_t> tensor_map_strides(const TensorMap& map);

}  // namespace recuda
