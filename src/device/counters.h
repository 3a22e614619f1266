// What the virtual GPU counted while kernels ran: exact traffic and instruction mix, by source line. Never a time.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace recuda {

/// Memory traffic of one direction and space.
struct Traffic {
    uint64_t requests = 0;  // warp-level instructions with at least one active lane
    uint64_t bytes = 0;     // bytes that lanes asked for
    uint64_t sectors = 0;   // distinct 32-byte sectors over all requests (global, local)

    void add(const Traffic& other);
};

/// What is counted of a source line, and of everything together.
struct LineCounters {
    uint64_t warp_instructions = 0;
    uint64_t thread_instructions = 0;  // active lanes summed
    Traffic global_read, global_write, local;
    uint64_t shared_requests = 0;
    uint64_t shared_wavefronts = 0;   // passes over the banks
    uint64_t shared_ideal = 0;        // passes without conflicts: one for each 128 bytes; the excess is bank conflicts
    uint64_t atomics = 0;             // lanes
    uint64_t atomic_conflicts = 0;    // lanes whose address another lane of the request has too
    uint64_t atomic_repeats = 0;      // requests to global memory at the address of the one before: contended
    uint64_t barrier_arrivals = 0;    // warps that came to a barrier
    uint64_t early_exits = 0;         // of those, with threads of the block already gone
    uint64_t branches = 0;            // by warps
    uint64_t divergent_branches = 0;  // of those, taken by some lanes and not by others

    void add(const LineCounters& other);
};

/// Instructions in turn: the longest chain in which each waits for the one before, by what it waits for, summed over
/// warps. What a warp alone needs, however many run beside it. Found by device/vgpu/costs.h.
struct Chain {
    int64_t arithmetic = 0, special = 0, warp = 0, shared = 0, global = 0, barrier = 0, tensor = 0, branch = 0;

    void add(const Chain& other);
};

/// Everything of one launch together.
struct LaunchCounters : LineCounters {
    uint64_t blocks = 0, threads = 0, warps = 0;
    uint64_t working_warps = 0;  // that ran the load or store that most ran; all where there is none
    uint64_t barriers = 0;       // of blocks, each complete
    uint64_t issue_cycles = 0;   // of one scheduler, at each instruction's documented throughput
    Chain chain;

    void add(const LaunchCounters& other);
};

/// Of one or several launches together.
struct Counters : LaunchCounters {
    std::vector<LaunchCounters> launches;    // each by itself, in their order; of several runs the sums
    std::map<std::string, uint64_t> mix;     // thread instructions by kind: "fma", "memory", "branch", "convert" …
    std::map<uint32_t, LineCounters> lines;  // by line of the user's file

    void add(const Counters& other);
};

nlohmann::json to_json(const Counters& counters);

/// The reverse, without lines and mix; throws Error for JSON that is none.
Counters counters_from_json(const nlohmann::json& json);

}  // namespace recuda
