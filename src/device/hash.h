// A 64-bit hash of a buffer's bytes that thousands of threads can make together: a sum over its words of 8 bytes, each
// mixed with its position, so that the order in which they are added does not matter.
//
// With G = 0x9e3779b97f4a7c15 and mix the finaliser of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom
// Number Generators, 2014): the sum of mix(word[i] + (i + 1) G) over i = 0 … bytes / 8; the last word holds the bytes
// that are left over, which may be none, and zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace recuda {

uint64_t hash_of(std::span<const std::byte> bytes);

}  // namespace recuda
