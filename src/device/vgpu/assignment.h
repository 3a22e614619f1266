// Reads of registers before they are written, found where they can happen and watched only there.
//
// A forward analysis (which registers are written on every path) names the uses that may come too early; on straight
// code there are none and nothing is paid. A register of such a use gets a state a lane: which of its bytes are
// undefined, and the instruction that first used them so. The state follows through copies, shuffles and arithmetic
// (byte_flow.h), because compilers move and compute values that nobody looks at, halves of packed ones above all, and
// becomes a report where the value decides something or leaves the thread: an address, a store, a branch, a vote. The
// report names the instruction that used it first.
#pragma once

#include "device/vgpu/program.h"

namespace recuda::vgpu {

/// The state of a watched register: for each lane the instruction that first used it undefined (1 + its index, kUnused:
/// none yet), then for each lane a mask of its undefined bytes. All bits are set where nothing is written yet.
inline constexpr uint32_t kUnused = 0xffffffffu;
inline constexpr uint32_t kStateBytes = 8;  // a lane

/// Wraps the instructions of the function just decoded that touch registers which may be read before they are written.
void track_assignments(ProgramDecoder& decoder);

/// Reports lanes of `active` in which an instruction's guard, which decides also where it is false, is not defined;
/// true where some are. (tracked.cpp)
bool report_guard(Warp& warp, const Instruction& in, Mask active);

/// Runs an instruction that is tracked. (tracked.cpp)
void run_tracked(Warp& warp, const Instruction& in, Mask active);

}  // namespace recuda::vgpu
