// Which bytes of a result come from which bytes of an instruction's operands, as far as that can be told from its text.
//
// Compilers pack two halves into a register, compute both, and use one: whether a value is defined is a matter of
// bytes.
#pragma once

#include <array>
#include <cstdint>

#include "device/vgpu/ptx/ptx.h"

namespace recuda::vgpu {

inline constexpr uint32_t kMostRegisterBytes = 16;

/// Bit i of [j]: byte j of the result needs byte i of the source.
using ByteMap = std::array<uint16_t, kMostRegisterBytes>;

/// A register as an operand of a statement: operand `index`, or its element `element` of `elements`.
struct RegisterPlace {
    uint32_t index = 0, element = 0, elements = 1;
    uint32_t bytes = 4;  // of the register; 0: a predicate
};

/// Of a statement that only computes. Where nothing better is known, all of the result needs all of the source.
ByteMap byte_flow(const ptx::Statement& statement, const RegisterPlace& result, const RegisterPlace& source);

/// Bytes of the source that a statement which stores, loads or decides looks at.
uint16_t bytes_looked_at(const ptx::Statement& statement, const RegisterPlace& source);

}  // namespace recuda::vgpu
