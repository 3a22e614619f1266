// fma.oob of f16 and bf16: the result is +0 where a factor is the NaN that tensor copies write beyond a tensor's edge,
// whatever the addend.
#pragma once

#include "device/vgpu/decode.h"

namespace recuda::vgpu {

/// The OOB NaN of both 16-bit formats, of either sign: not in the PTX ISA, as an H200 has it.
inline constexpr uint16_t kOobNan = 0x7ff7;

/// Puts the test around the instruction `in`, which has been decoded, and which works on pairs where `packed`.
void guard_out_of_bounds(Decoder& decoder, Instruction& in, bool packed);

}  // namespace recuda::vgpu
