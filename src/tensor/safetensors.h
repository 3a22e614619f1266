// Safetensors files (huggingface/safetensors, README "Format"): an 8-byte length, a JSON header, then the bytes.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "tensor/tensor.h"

namespace recuda {

/// All tensors of a file. Throws Error for a malformed one, and for tensors of types that have no DType.
std::map<std::string, Tensor> read_safetensors(const std::filesystem::path& path);

}  // namespace recuda
