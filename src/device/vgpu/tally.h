// Counts of one host thread, by instruction: cheap to keep, summed by source line when a launch has ended.
#pragma once

#include <cstdint>
#include <vector>

#include "device/counters.h"

namespace recuda::vgpu {

class Program;

struct Tally {
    struct Executed {
        uint64_t warps = 0, lanes = 0, divergent = 0;
    };
    struct Memory {
        Traffic read, write, local;
        uint64_t shared_requests = 0, shared_wavefronts = 0, shared_ideal = 0;
        uint64_t atomics = 0, atomic_conflicts = 0, atomic_repeats = 0;
        uint64_t last_atomic = 0;  // address of the last request
        uint64_t early_exits = 0;  // arrivals at a barrier after threads of the block have ended

        /// One request to shared memory by so many lanes for `width` bytes each.
        void count_shared(uint32_t wavefronts, uint32_t lanes, uint32_t width);
        /// Lanes (`active`, a mask) of one atomic request.
        void count_atomic(const uint64_t* address, uint32_t active, bool global);
    };
    bool on = false;
    std::vector<Executed> executed;
    std::vector<Memory> memory;
    uint64_t blocks = 0, threads = 0, warps = 0, barriers = 0;

    void prepare(const Program& program, bool count);
    void add_to(Counters& counters, const Program& program) const;
};

}  // namespace recuda::vgpu
