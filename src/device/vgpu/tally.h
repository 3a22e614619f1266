// Counts of one host thread, by instruction: cheap to keep, summed by source line when a launch has ended.
#pragma once

#include <cstdint>
#include <vector>

#include "device/counters.h"

namespace recuda::vgpu {

class Program;

struct Tally {
    struct Executed {
        uint64_t warps = 0, lanes = 0;
    };
    struct Memory {
        Traffic read, write, local;
        uint64_t shared_requests = 0, shared_wavefronts = 0;
        uint64_t atomics = 0;
    };
    bool on = false;
    std::vector<Executed> executed;
    std::vector<Memory> memory;
    uint64_t blocks = 0, threads = 0, barriers = 0;

    void prepare(const Program& program, bool count);
    void add_to(Counters& counters, const Program& program) const;
};

}  // namespace recuda::vgpu
