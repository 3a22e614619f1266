// What a device can launch, as far as plans and expressions need it.
#pragma once

#include <cstdint>
#include <string>

namespace recuda {

struct DeviceLimits {
    uint32_t sm_count = 132;                 // SMS in expressions
    uint32_t max_shared_bytes = 227 * 1024;  // MAX_SHARED: a block, static and dynamic together, after opting in
    uint32_t max_threads_per_block = 1024;
    uint32_t max_cluster_blocks = 8;
    bool has_clusters = true;  // sm_90 and newer
    uint32_t registers_per_block = 65536;
};

}  // namespace recuda
