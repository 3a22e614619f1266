// Reads of registers before they are written, found where they can happen and watched only there.
//
// A forward analysis (which registers are written on every path) names the uses that may come too early; on straight
// code there are none and nothing is paid. A register of such a use gets a state a lane: defined, or the instruction
// that first used it undefined. The state follows through copies and arithmetic, because compilers move and compute
// values that nobody looks at, and becomes a report where the value decides something or leaves the thread: an address,
// a store, a branch, a vote. The report names the instruction that used it first.
#pragma once

#include "device/vgpu/program.h"

namespace recuda::vgpu {

/// State of a lane of a watched register: 0 defined, kUnused: not defined and not used yet, else 1 + the index of the
/// instruction that first used it.
inline constexpr uint32_t kUnused = 0xffffffffu;

/// Wraps the instructions of the function just decoded that touch registers which may be read before they are written.
void track_assignments(ProgramDecoder& decoder);

}  // namespace recuda::vgpu
