// Element types of tensors, and the conversion of single elements to and from double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace recuda {

enum class DType : uint8_t { i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64, e4m3, e5m2 };

std::string_view name(DType type);
/// The type of that name; throws Error with the nearest name for an unknown one.
DType dtype_named(std::string_view name);
uint32_t size_bytes(DType type);
bool is_floating(DType type);
bool is_signed(DType type);

/// Unit roundoff: half the distance from 1 to the next number (bf16: 2^-8). 0 for integers.
double unit_roundoff(DType type);
/// Smallest positive number, subnormals included.
double smallest_subnormal(DType type);
/// Largest finite number.
double largest_finite(DType type);

/// One element as double: exact for every type but 64-bit integers.
double load(DType type, const std::byte* element);
/// Stores a double, rounded to nearest even (f8 types saturate as PyTorch's casts do not: overflow gives NaN for e4m3,
/// infinity for e5m2); integers truncate.
void store(DType type, std::byte* element, double value);

/// bfloat16 and IEEE half by bits.
uint16_t bf16_from_double(double value);
double bf16_to_double(uint16_t bits);
uint16_t f16_from_double(double value);
double f16_to_double(uint16_t bits);

}  // namespace recuda
