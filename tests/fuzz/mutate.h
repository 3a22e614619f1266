// Changes to PTX as text that keep most of it PTX: what random bytes would hardly ever reach.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace recuda::fuzz {

/// One to four changes chosen by `seed`: statements are repeated, removed, swapped or taken from `other`; operands,
/// modifiers, types, registers and immediates are exchanged for others of the text or for telling ones. The result has
/// at most `max_size` characters.
std::string mutate(std::string_view text, std::string_view other, uint32_t seed, size_t max_size);

}  // namespace recuda::fuzz
