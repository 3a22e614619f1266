// The conversions that fill a register with more than one number, or with tf32.
#pragma once

#include "device/vgpu/decode.h"
#include "device/vgpu/ops/modifiers.h"

namespace recuda::vgpu {

/// cvt to f16x2, bf16x2 and tf32, cvt.pack, and what `decode_small` knows; false where the statement is none of them.
bool decode_packed(Decoder& decoder, const ptx::Statement& statement, Instruction& in);

/// cvt from and to pairs of 8-bit and narrower floats (e4m3x2 … ue8m0x2); false where the statement names none.
bool decode_small(Decoder& decoder, const ptx::Statement& statement, Instruction& in);

/// cvt.rs: stochastic rounding by random bits that the program brings; false where the statement is not one.
bool decode_stochastic(Decoder& decoder, const ptx::Statement& statement, Instruction& in);

}  // namespace recuda::vgpu
