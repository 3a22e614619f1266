#include "judge/limits.h"

#include <charconv>

#include "device/device.h"

namespace recuda {
namespace {

/// 90 of "sm_90a"; 0 for what is no target.
int architecture(std::string_view target) {
    int number = 0;
    if (target.starts_with("sm_")) std::from_chars(target.data() + 3, target.data() + target.size(), number);
    return number;
}

}  // namespace

DeviceLimits limits_of(const DeviceInfo& info) {
    return {.sm_count = info.sm_count,
            .max_shared_bytes = info.max_shared_bytes,
            .max_threads_per_block = info.max_threads_per_block,
            .max_cluster_blocks = info.max_cluster_blocks,
            .has_clusters = architecture(info.target) >= 90,
            .registers_per_block = info.registers_per_sm};
}

}  // namespace recuda
