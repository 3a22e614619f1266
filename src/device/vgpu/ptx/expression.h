// Constant expressions of PTX ISA 9.0, section 4.6: literals, casts, C operators, the conditional, WARP_SZ.
#pragma once

#include <cstdint>

#include "device/vgpu/ptx/cursor.h"

namespace recuda::vgpu::ptx {

/// A constant's value. Integers are 64 bits, signed unless a U, a cast or their size says otherwise; decimal floats are
/// f64; `0f…` literals keep their 32 bits and take no operator but the sign.
struct Constant {
    enum class Kind : uint8_t { integer, single, real } kind = Kind::integer;
    uint64_t bits = 0;
    bool is_unsigned = false;

    double real() const;
};

/// Reads the longest constant expression at the cursor. Throws Error for what is none, and for deep nesting.
Constant constant_expression(Cursor& cursor);

/// True where a constant begins: a digit, a sign, '~', '(', '.' and a digit, or '!' before no name.
bool begins_constant(char c, char next);

inline constexpr uint64_t kWarpSize = 32;

}  // namespace recuda::vgpu::ptx
