// The part of bit_rows() that has a file of its own.
#pragma once

#include <span>

#include "device/vgpu/decode.h"

namespace recuda::vgpu {

/// prmt, bfe, bfi, bmsk, szext, bfind, fns, brev, popc, clz.
std::span<const OpRow> bit_field_rows();

}  // namespace recuda::vgpu
