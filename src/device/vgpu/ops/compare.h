// The part of select_rows() that has a file of its own.
#pragma once

#include "device/vgpu/decode.h"

namespace recuda::vgpu {

void decode_set_predicate(Decoder& decoder, const ptx::Statement& statement, Instruction& in);  // setp
void decode_set(Decoder& decoder, const ptx::Statement& statement, Instruction& in);

}  // namespace recuda::vgpu
