// How warp-wide instructions wait for the lanes that their mask names.
#pragma once

#include <fmt/format.h>

#include "device/vgpu/block.h"
#include "device/vgpu/ops/lanes.h"

namespace recuda::vgpu {

/// Calls body(lanes, mask) for the lanes of each distinct member mask (register `in.e`) once all that it names and that
/// live are here.
template <typename Body>
void gather(Warp& warp, const Instruction& in, Mask active, Body body) {
    const uint32_t* masks = warp.lanes<uint32_t>(in.e);
    for (Mask rest = active; rest != 0;) {
        const Mask members = masks[first_lane(rest)];
        const Mask same = rest & (members == kFullMask && rest == kFullMask ? kFullMask : mask_of([&](uint32_t i) {
                              return masks[i] == members;
                          }));
        rest &= ~same;
        if (const Mask strangers = same & ~members; strangers != 0) {
            warp.fault(in, strangers,
                       {.check = Check::absent_lane,
                        .message = fmt::format("lanes {:#x} run this with the mask {:#x}, which does not name them",
                                               strangers, members)});
            return;
        }
        const Mask needed = members & warp.alive;
        if ((needed & ~same) != 0)
            warp.wait(in, same, Group::State::at_warp_sync, 0, needed);
        else if (!body(same, members))
            return;
    }
}

/// The lane whose value each lane gets by a shfl.
void shuffle_sources(Warp& warp, const Instruction& in, uint32_t* from);

/// redux.
void decode_redux(Decoder& decoder, const ptx::Statement& statement, Instruction& in);

}  // namespace recuda::vgpu
