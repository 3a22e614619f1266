// Elements of matrices, and what the instructions on them share.
#pragma once

#include <cstdint>
#include <string_view>

#include "device/vgpu/decode.h"

namespace recuda::vgpu {

struct Warp;

enum class Element : uint8_t { f64, f32, tf32, s32, f16, bf16, e4m3, e5m2, e3m2, e2m3, e2m1, s8, u8, s4, u4, b1 };

/// Throws Unsupported for other types.
Element element_of(std::string_view type);
bool is_element(std::string_view type);

/// The bits that an element takes in registers and memory. Formats of 6 bits lie in bytes, as e2m1 does outside of the
/// packed kinds.
uint32_t bits_of(Element element);

inline bool is_whole(Element element) { return element >= Element::s8 || element == Element::s32; }

/// For instructions that all 32 lanes run together: true when they are here; else they wait, or it is a fault.
bool whole_warp(Warp& warp, const Instruction& in, Mask active);

void decode_mma(Decoder& decoder, const ptx::Statement& statement, Instruction& in);
/// mma with scaled blocks (scaled_mma.cpp).
void decode_scaled_mma(Decoder& decoder, const ptx::Statement& statement, Instruction& in);
/// mma.m8n8k4 of f16 (quad_mma.cpp).
void decode_quad_mma(Decoder& decoder, const ptx::Statement& statement, Instruction& in);
void decode_wmma(Decoder& decoder, const ptx::Statement& statement, Instruction& in);
void decode_wgmma(Decoder& decoder, const ptx::Statement& statement, Instruction& in);

}  // namespace recuda::vgpu
