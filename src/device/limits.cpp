#include "device/limits.h"

#include <charconv>

#include "device/device.h"

namespace recuda {

DeviceLimits limits_of(const DeviceInfo& info) {
    int architecture = 0;
    const std::string& target = info.target;
    if (target.size() > 3) std::from_chars(target.data() + 3, target.data() + target.size(), architecture);
    DeviceLimits limits;
    limits.sm_count = info.sm_count;
    limits.max_shared_bytes = info.max_shared_bytes;
    limits.max_threads_per_block = info.max_threads_per_block;
    limits.max_cluster_blocks = info.max_cluster_blocks;
    limits.has_clusters = architecture >= 90;
    return limits;
}

}  // namespace recuda
