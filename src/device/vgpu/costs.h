// What instructions cost a GPU: for the estimate, by which candidates are ranked.
//
// Two costs, both found once a program and charged when a launch's counts are summed, so that they cost a run nothing.
// `issue`: cycles of a scheduler, by the throughput that the programming guide documents. `chain`: the longest chain
// of dependent instructions. PTX is not machine code: ptxas moves loads forward as far as nothing forbids it, and a
// warp waits for a load only where its value is used, so only what depends on another waits for it here, whatever the
// order in which it stands. The chain goes on over branches forward; it begins anew where a loop begins or ends. Each
// straight piece of code (between places that a branch leaves or enters) is charged, at its first instruction, with
// what it adds to the longest chain so far: a piece that a warp does not run costs it nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "device/counters.h"

namespace recuda::vgpu {

class Program;

struct Cost {
    uint8_t issue = 1;
    // What the piece of code that begins here adds to the longest chain; less than 0 where the longest is another.
    int16_t arithmetic = 0, special = 0, warp = 0, shared = 0, global = 0, barrier = 0, tensor = 0;

    /// Adds the chain as often as it ran.
    void add_chain(Chain& chain, uint64_t times) const;
};

std::vector<Cost> costs_of(const Program& program);

}  // namespace recuda::vgpu
