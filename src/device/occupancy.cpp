#include "device/occupancy.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "device/device.h"

namespace recuda {
namespace {

constexpr uint32_t kWarpThreads = 32, kRegisterUnit = 256, kParts = 4, kSharedUnit = 128, kReservedShared = 1024;
constexpr uint32_t kUnlimited = 0xffffffffu;

uint32_t rounded_up(uint32_t value, uint32_t unit) { return (value + unit - 1) / unit * unit; }

uint32_t by_registers(uint32_t registers, uint32_t warps, const DeviceInfo& gpu) {
    if (registers == 0) return kUnlimited;
    const uint32_t of_warp = rounded_up(registers * kWarpThreads, kRegisterUnit);
    if (of_warp * rounded_up(warps, kParts) > gpu.registers_per_sm) return 0;
    return gpu.registers_per_sm / kParts / of_warp * kParts / warps;
}

uint32_t by_shared(uint32_t bytes, const DeviceInfo& gpu) {
    if (bytes > gpu.max_shared_bytes) return 0;
    return gpu.shared_bytes_per_sm / rounded_up(bytes + kReservedShared, kSharedUnit);
}

}  // namespace

Occupancy occupancy_of(const OccupancyRequest& request, const DeviceInfo& gpu) {
    const uint32_t warps = std::max(1u, (request.threads + kWarpThreads - 1) / kWarpThreads);
    Occupancy occupancy;
    occupancy.gpu = gpu.name;
    occupancy.most_warps = gpu.max_threads_per_sm / kWarpThreads;
    const std::pair<uint32_t, const char*> limits[] = {{occupancy.most_warps / warps, "threads"},
                                                       {gpu.max_blocks_per_sm, "blocks"},
                                                       {by_registers(request.registers, warps, gpu), "registers"},
                                                       {by_shared(request.shared_bytes, gpu), "shared memory"}};
    const auto* least = std::min_element(std::begin(limits), std::end(limits),
                                         [](const auto& a, const auto& b) { return a.first < b.first; });
    occupancy.blocks = least->first;
    occupancy.warps = occupancy.blocks * warps;
    if (occupancy.warps < occupancy.most_warps) occupancy.limit = least->second;
    return occupancy;
}

nlohmann::json to_json(const Occupancy& occupancy) {
    return {{"gpu", occupancy.gpu},
            {"blocks_per_sm", occupancy.blocks},
            {"warps_per_sm", occupancy.warps},
            {"most_warps_per_sm", occupancy.most_warps},
            {"share", occupancy.share()},
            {"limit", occupancy.limit}};
}

}  // namespace recuda
