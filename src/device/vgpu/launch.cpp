#include "device/vgpu/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "device/limits.h"
#include "device/vgpu/memory/layout.h"

namespace recuda::vgpu {
namespace {

/// The blocks of a cooperative launch wait for each other: all have to be on the GPU at once.
void check_resident(const Launch& launch, uint64_t shared_bytes, const DeviceInfo& gpu) {
    if (!launch.cooperative) return;
    constexpr uint64_t kMostBlocks = 32;  // of a multiprocessor
    const uint64_t threads = (launch.block.volume() + kLanes - 1) / kLanes * kLanes;
    const uint64_t blocks = gpu.sm_count * std::min({kMostBlocks, gpu.max_threads_per_sm / threads,
                                                     gpu.shared_bytes_per_sm / (shared_bytes + kReservedShared)});
    if (launch.grid.volume() > blocks)
        throw Refused{fmt::format("a cooperative launch of {} blocks: at most {} of this size are on the GPU at once",
                                  launch.grid.volume(), blocks)};
}

}  // namespace

Dim3 cluster_of(const Launch& launch, const ptx::Function& entry) {
    if (launch.cluster.volume() > 1 || entry.required_cluster[0] == 0) return launch.cluster;
    return {entry.required_cluster[0], std::max(1u, entry.required_cluster[1]),
            std::max(1u, entry.required_cluster[2])};
}

void check_launch(const Launch& launch, const Program& program, const DeviceInfo& gpu) {
    const auto& entry = *program.entry->source;
    const auto refuse = []<typename... Args>(fmt::format_string<Args...> words, Args&&... args) {
        throw Refused{fmt::format(words, std::forward<Args>(args)...)};
    };
    if (launch.grid.volume() == 0 || launch.block.volume() == 0) refuse("a grid or block of no threads");
    if (launch.block.volume() > gpu.max_threads_per_block || launch.block.x > 1024 || launch.block.y > 1024 ||
        launch.block.z > 64)
        refuse("a block of {} threads: at most {}", launch.block.volume(), gpu.max_threads_per_block);
    if (launch.grid.x > 0x7fffffffu || launch.grid.y > 65535 || launch.grid.z > 65535)
        refuse("a grid larger than 2147483647 x 65535 x 65535");
    const uint64_t shared = uint64_t{launch.shared_bytes} + program.static_shared_bytes;
    if (shared > gpu.max_shared_bytes) refuse("{} bytes of shared memory: at most {}", shared, gpu.max_shared_bytes);
    if (launch.arguments.size() != program.parameters.size())
        refuse("{} arguments for {} parameters of {}", launch.arguments.size(), program.parameters.size(),
               launch.entry);
    for (size_t i = 0; i < launch.arguments.size(); ++i) {
        const Argument& argument = launch.arguments[i];
        const uint64_t bytes = argument.kind == Argument::Kind::buffer       ? 8
                               : argument.kind == Argument::Kind::tensor_map ? 128
                                                                             : argument.value.size();
        if (bytes != program.parameters[i].second)
            refuse("argument {} of {} has {} bytes, its parameter {}", i + 1, launch.entry, bytes,
                   program.parameters[i].second);
    }
    const uint64_t limit =
        uint64_t{entry.max_threads[0]} * std::max(1u, entry.max_threads[1]) * std::max(1u, entry.max_threads[2]);
    if (limit != 0 && launch.block.volume() > limit)
        refuse("a block of {} threads for a kernel of at most {}", launch.block.volume(), limit);
    const Dim3 needed{entry.required_threads[0], std::max(1u, entry.required_threads[1]),
                      std::max(1u, entry.required_threads[2])};
    if (needed.x != 0 && !(needed == launch.block))
        refuse("the kernel requires blocks of {}x{}x{} threads", needed.x, needed.y, needed.z);
    const Dim3 cluster = cluster_of(launch, entry);
    if (entry.required_cluster[0] != 0 && !(cluster_of({}, entry) == cluster))
        refuse("the kernel is built for clusters of another shape than {}x{}x{}", cluster.x, cluster.y, cluster.z);
    check_resident(launch, shared, gpu);
    if (cluster.volume() == 0) refuse("a cluster of no blocks");
    if (cluster.volume() == 1) return;
    if (!limits_of(gpu).has_clusters) refuse("clusters of blocks need sm_90 or newer, not {}", gpu.target);
    if (cluster.volume() > gpu.max_cluster_blocks)
        refuse("a cluster of {} blocks: at most {}", cluster.volume(), gpu.max_cluster_blocks);
    if (launch.grid.x % cluster.x != 0 || launch.grid.y % cluster.y != 0 || launch.grid.z % cluster.z != 0)
        refuse("the grid is no multiple of the cluster {}x{}x{}", cluster.x, cluster.y, cluster.z);
}

}  // namespace recuda::vgpu
