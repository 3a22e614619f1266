// The parts of float_rows() that have files of their own.
#pragma once

#include <span>

#include "device/vgpu/decode.h"

namespace recuda::vgpu {

/// rcp.approx, sqrt.approx, rsqrt, ex2, lg2, sin, cos, tanh.
void decode_function(Decoder& decoder, const ptx::Statement& statement, Instruction& in);

/// div.approx and div.full.
void decode_approximate_divide(Decoder& decoder, const ptx::Statement& statement, Instruction& in);

/// neg, abs, copysign, min, max, testp.
std::span<const OpRow> float_order_rows();

}  // namespace recuda::vgpu
