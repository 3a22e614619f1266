// A scalar conversion as decoded, and its result for any one value: what the conversions without a loop of their own go
// through.
#pragma once

#include <cstdint>

#include "device/vgpu/decode.h"
#include "device/vgpu/ops/modifiers.h"

namespace recuda::vgpu {

inline bool is_signed(ptx::Type type) {
    return type == ptx::Type::s8 || type == ptx::Type::s16 || type == ptx::Type::s32 || type == ptx::Type::s64;
}
inline bool is_integer(ptx::Type type) {
    return is_signed(type) || type == ptx::Type::u8 || type == ptx::Type::u16 || type == ptx::Type::u32 ||
           type == ptx::Type::u64;
}
inline bool is_float(ptx::Type type) {
    return type == ptx::Type::f16 || type == ptx::Type::bf16 || type == ptx::Type::f32 || type == ptx::Type::f64;
}

/// Rounding of a float to an integral value.
enum class Integral : uint8_t { none, nearest, zero, minus, plus };

/// A scalar conversion as written, and the widths of the registers in bytes.
struct Conversion : Extra {
    ptx::Type from = ptx::Type::none, to = ptx::Type::none;
    Rounding rounding = Rounding::nearest;
    Integral integral = Integral::none;
    bool ftz = false, sat = false, satfinite = false, relu = false;
    uint32_t from_bytes = 0, to_bytes = 0;
};

/// The bits of the destination for those of the source, extended to the width of the destination's register.
uint64_t converted(uint64_t source, const Conversion& how);

}  // namespace recuda::vgpu
