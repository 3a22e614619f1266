// How many blocks of a launch an SM holds at once, and what limits them.
//
// The rules are those of cuda_occupancy.h of CUDA 13.0 for compute capability 8.0 and later: registers are given to
// warps by 256, each of the four parts of an SM has a quarter of them; shared memory is given to blocks by 128 bytes,
// 1 KiB of each block's is the system's.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace recuda {

struct DeviceInfo;

struct OccupancyRequest {
    uint32_t threads = 0;       // of a block
    uint32_t registers = 0;     // of a thread; 0: unknown, they limit nothing
    uint32_t shared_bytes = 0;  // of a block, static and dynamic
};

struct Occupancy {
    std::string gpu;
    uint32_t blocks = 0, warps = 0;  // of an SM
    uint32_t most_warps = 0;         // that an SM can hold
    std::string limit;               // "registers", "shared memory", "threads" or "blocks"; "" where it is full

    double share() const { return most_warps == 0 ? 0 : static_cast<double>(warps) / most_warps; }
};

Occupancy occupancy_of(const OccupancyRequest& request, const DeviceInfo& gpu);

nlohmann::json to_json(const Occupancy& occupancy);

}  // namespace recuda
