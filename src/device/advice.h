// What an engineer would say who has read the counters: where a kernel wastes the GPU, why, and what to try.
//
// A line is spoken of only where what it wastes is a noticeable share of the whole kernel's.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "device/counters.h"
#include "device/occupancy.h"

namespace recuda {

/// One launch of what was counted, and how many blocks of it an SM holds.
struct LaunchShape {
    std::string kernel;
    uint64_t blocks = 0;
    uint32_t threads = 0;    // of a block
    uint32_t registers = 0;  // of a thread; 0: unknown
    uint32_t spill_bytes = 0;
    uint32_t shared_bytes = 0;  // of a block, static and dynamic
    Occupancy occupancy;
};

struct Advice {
    uint32_t line = 0;  // 0: of no line
    std::string kind;   // "sectors", "narrow", "banks", "lanes", "divergence", "atomics", "local", "early_exit",
                        // "occupancy", "grid", "spills"
    std::string text;
};

/// The most wasteful first. `sm_count` is the GPU's.
std::vector<Advice> advice_on(const Counters& counters, std::span<const LaunchShape> launches, uint32_t sm_count);

nlohmann::json to_json(const Advice& advice);
nlohmann::json to_json(const LaunchShape& launch);

}  // namespace recuda
