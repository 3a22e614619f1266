// What the virtual GPU counted while kernels ran: exact traffic and instruction mix, by source line. Never a time.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace recuda {

/// Memory traffic of one direction and space.
struct Traffic {
    uint64_t requests = 0;  // warp-level instructions with at least one active lane
    uint64_t bytes = 0;     // bytes that lanes asked for
    uint64_t sectors = 0;   // distinct 32-byte sectors over all requests (global, local)
};

struct LineCounters {
    uint64_t warp_instructions = 0;
    uint64_t thread_instructions = 0;  // active lanes summed
    Traffic global_read, global_write;
    uint64_t shared_requests = 0;
    uint64_t shared_wavefronts = 0;  // >= requests; the excess is bank conflicts
};

struct Counters {
    uint64_t blocks = 0, threads = 0;
    uint64_t warp_instructions = 0, thread_instructions = 0;
    Traffic global_read, global_write, local;
    uint64_t shared_requests = 0, shared_wavefronts = 0;
    uint64_t atomics = 0;
    uint64_t barriers = 0;
    std::map<std::string, uint64_t> mix;     // thread instructions by kind: "fma", "memory", "branch", "convert" …
    std::map<uint32_t, LineCounters> lines;  // by line of the user's file

    void add(const Counters& other);
};

nlohmann::json to_json(const Counters& counters);

}  // namespace recuda
