// printf of a kernel: `vprintf(format, arguments)`, both read from the virtual GPU's memory.
#pragma once

#include <cstdint>
#include <string>

#include "device/vgpu/warp.h"

namespace recuda::vgpu {

/// The text at a generic address as lane `lane` sees it, to its NUL or at most 4096 bytes; "" where there is none.
std::string text_at(Warp& warp, uint32_t lane, uint64_t address);

/// Appends what printf would write; arguments lie one after another at their natural alignment. Returns the number of
/// arguments, as the device's vprintf does, or -1 for a format that cannot be read.
int print(Warp& warp, uint32_t lane, uint64_t format, uint64_t arguments, std::string* out);

}  // namespace recuda::vgpu
