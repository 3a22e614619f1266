#include "device/gpus.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace recuda {
namespace {

// Sources, by column.
// Threads and blocks an SM, shared memory a block (opt-in) and an SM: CUDA C++ Programming Guide 13.0, "Technical
// specifications per compute capability"; for 10.3, 11.0 and 12.1 also cuda_occupancy.h of CUDA 13.0. H200: as its
// driver reports it. SMs, L2, memory and bandwidth of A100, RTX A6000, B200 and RTX PRO 6000: the device descriptions
// in OpenXLA (xla/backends/gpu/target_config/specs); the 8 TB/s of B200 and B300 are NVIDIA's data sheets' (B200's
// memory clock gives 7.67). B300: memory and L2 from OpenXLA, which has 158 SMs; others have 148, of 160 on the chip:
// 148 is not confirmed. H100 SXM: NVIDIA's Hopper white paper. L4, L40S, RTX 4090 and RTX 5090: NVIDIA's data sheets;
// L2 from the Ada and Blackwell white papers. Jetson AGX Orin 64GB: NVIDIA's technical brief; L2 from the Orin white
// paper. Jetson Thor: SMs and L2 as CUDA reports them (NVIDIA's forum, topic 356355), 273 GB/s of the data sheet.
// GB10: 48 SMs and 273 GB/s from NVIDIA's developer blog, memory as CUDA reports it on a DGX Spark (121.7 GiB of
// 128 GB), L2 from NVIDIA's talk at Hot Chips 2025. Blocks of a cluster: 8 is what every GPU with clusters can do
// without the non-portable attribute. Clocks: boost clocks of the data sheets; H200: the clock that its SMs run at.
struct Row {
    const char* target;
    const char* word;  // what --gpu calls it
    const char* name;
    uint32_t sm_count, threads_per_sm, blocks_per_sm, shared_kib_block, shared_kib_sm;
    uint32_t cluster;
    double l2_mib, memory_gib, gb_per_s;
    uint32_t clock_mhz;
    bool integrated = false;
};

// The first of a target is what the target stands for.
constexpr Row kRows[] = {
    {"sm_80", "a100", "NVIDIA A100-SXM4-80GB", 108, 2048, 32, 163, 164, 1, 40, 79.25, 2039, 1410},
    {"sm_86", "a6000", "NVIDIA RTX A6000", 84, 1536, 16, 99, 100, 1, 6, 48, 768, 1800},
    {"sm_87", "orin", "NVIDIA Jetson AGX Orin 64GB", 16, 1536, 16, 163, 164, 1, 4, 61, 204.8, 1300, true},
    {"sm_89", "l40s", "NVIDIA L40S", 142, 1536, 24, 99, 100, 1, 96, 48, 864, 2520},
    {"sm_89", "l4", "NVIDIA L4", 58, 1536, 24, 99, 100, 1, 48, 24, 300, 2040},
    {"sm_89", "rtx4090", "NVIDIA GeForce RTX 4090", 128, 1536, 24, 99, 100, 1, 72, 24, 1008, 2520},
    {"sm_90", "h200", "NVIDIA H200", 132, 2048, 32, 227, 228, 8, 60, 139.8, 4800, 1980},
    {"sm_90", "h100", "NVIDIA H100 SXM", 132, 2048, 32, 227, 228, 8, 50, 79.6, 3352, 1980},
    {"sm_100", "b200", "NVIDIA B200", 148, 2048, 32, 227, 228, 8, 126.5, 178, 8000, 1965},
    {"sm_103", "b300", "NVIDIA B300", 148, 2048, 32, 227, 228, 8, 129.25, 276, 8000, 1920},
    {"sm_110", "thor", "NVIDIA Jetson AGX Thor", 20, 1536, 24, 227, 228, 8, 32, 122.8, 273, 1575, true},
    {"sm_120", "rtxpro6000", "NVIDIA RTX PRO 6000 Blackwell", 188, 1536, 24, 99, 100, 8, 128, 96, 1792, 2617},
    {"sm_120", "rtx5090", "NVIDIA GeForce RTX 5090", 170, 1536, 24, 99, 100, 8, 96, 32, 1792, 2407},
    {"sm_121", "gb10", "NVIDIA GB10", 48, 1536, 24, 99, 100, 8, 24, 121.7, 273, 2418, true},
};

DeviceInfo info_of(const Row& row) {
    DeviceInfo info;
    info.kind = DeviceKind::vgpu;
    info.name = fmt::format("virtual GPU ({})", row.name);
    info.target = row.target;
    info.integrated = row.integrated;
    info.sm_count = row.sm_count;
    info.max_threads_per_sm = row.threads_per_sm;
    info.max_blocks_per_sm = row.blocks_per_sm;
    info.max_shared_bytes = row.shared_kib_block << 10;
    info.shared_bytes_per_sm = row.shared_kib_sm << 10;
    info.max_cluster_blocks = row.cluster;
    info.clock_mhz = row.clock_mhz;
    info.l2_bytes = static_cast<uint64_t>(row.l2_mib * (1 << 20));
    info.memory_bytes = static_cast<uint64_t>(row.memory_gib * (1 << 30));
    info.memory_bytes_per_ns = row.gb_per_s;
    return info;
}

}  // namespace

DeviceInfo gpu_of_target(std::string_view target) {
    std::string_view plain = target;
    if (!plain.empty() && (plain.back() == 'a' || plain.back() == 'f')) plain.remove_suffix(1);
    for (const Row& row : kRows) {
        if (plain != row.target) continue;
        DeviceInfo info = info_of(row);
        info.target = std::string(target);
        return info;
    }
    throw Error("target {} is not known: use one of {}", target, fmt::join(gpu_targets(), ", "));
}

DeviceInfo gpu_named(std::string_view word) {
    std::vector<std::string> words;
    for (const Row& row : kRows) {
        if (word == row.word) return info_of(row);
        words.emplace_back(row.word);
    }
    throw UsageError("there is no GPU {}{}; there are {}", word, did_you_mean(word, words), fmt::join(words, ", "));
}

std::vector<std::string> gpu_targets() {
    std::vector<std::string> targets;
    for (const Row& row : kRows)
        if (targets.empty() || targets.back() != row.target) targets.emplace_back(row.target);
    return targets;
}

}  // namespace recuda
