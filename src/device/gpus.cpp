#include "device/gpus.h"

#include <fmt/format.h>

#include "base/error.h"

namespace recuda {
namespace {

// Sources, by column.
// Threads an SM, shared memory a block (opt-in) and an SM: CUDA C++ Programming Guide 13.0, "Technical specifications
// per compute capability". H200: as its driver reports it. SMs, L2, memory and bandwidth of A100, RTX A6000, B200 and
// RTX PRO 6000: the device descriptions in OpenXLA (xla/backends/gpu/target_config/specs); the 8 TB/s of B200 and B300
// are NVIDIA's data sheets' (B200's memory clock gives 7.67). B300: memory and L2 from OpenXLA, which has 158 SMs;
// others have 148, of 160 on the chip: 148 is not confirmed. Jetson AGX Orin 64GB and L40S: NVIDIA's technical brief
// and data sheet; L2 from the Ada and Orin white papers. GB10: 48 SMs and 273 GB/s from NVIDIA's developer blog, memory
// as CUDA reports it on a DGX Spark (121.7 GiB of 128 GB), L2 from NVIDIA's talk at Hot Chips 2025. Blocks of a
// cluster: 8 is what every GPU with clusters can do without the non-portable attribute.
struct Row {
    const char* target;
    const char* name;
    uint32_t sm_count, threads_per_sm, shared_kib_block, shared_kib_sm;
    uint32_t cluster;
    double l2_mib, memory_gib, gb_per_s;
    bool integrated = false;
};

constexpr Row kRows[] = {
    {"sm_80", "NVIDIA A100-SXM4-80GB", 108, 2048, 163, 164, 1, 40, 79.25, 2039},
    {"sm_86", "NVIDIA RTX A6000", 84, 1536, 99, 100, 1, 6, 48, 768},
    {"sm_87", "NVIDIA Jetson AGX Orin 64GB", 16, 1536, 163, 164, 1, 4, 61, 204.8, true},
    {"sm_89", "NVIDIA L40S", 142, 1536, 99, 100, 1, 96, 48, 864},
    {"sm_90", "NVIDIA H200", 132, 2048, 227, 228, 8, 60, 139.8, 4800},
    {"sm_100", "NVIDIA B200", 148, 2048, 227, 228, 8, 126.5, 178, 8000},
    {"sm_103", "NVIDIA B300", 148, 2048, 227, 228, 8, 129.25, 276, 8000},
    {"sm_120", "NVIDIA RTX PRO 6000 Blackwell", 188, 1536, 99, 100, 8, 128, 96, 1792},
    {"sm_121", "NVIDIA GB10", 48, 1536, 99, 100, 8, 24, 121.7, 273, true},
};

}  // namespace

DeviceInfo gpu_of_target(std::string_view target) {
    std::string_view plain = target;
    if (!plain.empty() && (plain.back() == 'a' || plain.back() == 'f')) plain.remove_suffix(1);
    for (const Row& row : kRows) {
        if (plain != row.target) continue;
        DeviceInfo info;
        info.kind = DeviceKind::vgpu;
        info.name = fmt::format("virtual GPU ({})", row.name);
        info.target = std::string(target);
        info.integrated = row.integrated;
        info.sm_count = row.sm_count;
        info.max_threads_per_sm = row.threads_per_sm;
        info.max_shared_bytes = row.shared_kib_block << 10;
        info.shared_bytes_per_sm = row.shared_kib_sm << 10;
        info.max_cluster_blocks = row.cluster;
        info.l2_bytes = static_cast<uint64_t>(row.l2_mib * (1 << 20));
        info.memory_bytes = static_cast<uint64_t>(row.memory_gib * (1 << 30));
        info.memory_bytes_per_ns = row.gb_per_s;
        return info;
    }
    throw Error("target {} is not known: use one of {}", target, fmt::join(gpu_targets(), ", "));
}

std::vector<std::string> gpu_targets() {
    std::vector<std::string> targets;
    for (const Row& row : kRows) targets.emplace_back(row.target);
    return targets;
}

}  // namespace recuda
