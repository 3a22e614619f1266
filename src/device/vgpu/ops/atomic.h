// What atom, red and the asynchronous reductions do to a word of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "device/vgpu/ptx/ptx.h"

namespace recuda::vgpu {

/// New value of a word from the old one and the operands; for cas `b` is compared and `c` stored.
using Update = uint64_t (*)(uint64_t old, uint64_t b, uint64_t c);

/// Throws Unsupported. Space shared: as shared memory does it, else as global memory does.
Update update_of(std::string_view operation, ptx::Type type, ptx::Space space);

/// Updates a word of 2, 4 or 8 bytes, indivisibly for all host threads; the old value. Adds to `changes` where it
/// changed.
uint64_t update_word(std::byte* at, uint32_t bytes, Update update, uint64_t b, uint64_t c, uint64_t* changes);

}  // namespace recuda::vgpu
