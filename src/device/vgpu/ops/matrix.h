// Elements of matrix fragments, for mma and wmma.
#pragma once

#include <cstdint>
#include <string_view>

#include "device/vgpu/decode.h"

namespace recuda::vgpu {

struct Warp;

enum class Element : uint8_t { f64, f32, tf32, s32, f16, bf16, s8, u8, e4m3, e5m2 };

/// Throws Unsupported for other types.
Element element_of(std::string_view type);

/// How many elements a 32-bit register (f64: a 64-bit one) holds.
uint32_t elements_a_register(Element element);

/// The value of an element's bits, exact.
double element_value(Element element, uint64_t bits);
/// The bits of a sum, rounded once; integers wrap, or saturate.
uint64_t element_bits(Element element, double value, bool saturates);

/// For instructions that all 32 lanes run together: true when they are here; else they wait, or it is a fault.
bool whole_warp(Warp& warp, const Instruction& in, Mask active);

void decode_wmma(Decoder& decoder, const ptx::Statement& statement, Instruction& in);

}  // namespace recuda::vgpu
