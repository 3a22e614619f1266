#include "device/vgpu/special.h"

#include <unordered_map>

#include "device/vgpu/block.h"
#include "device/vgpu/memory/layout.h"

namespace recuda::vgpu {

std::optional<Special> special_named(std::string_view name) {
    using enum Special;
    static const std::unordered_map<std::string_view, Special> kNames = {
        {"%tid", tid_x},
        {"%tid.x", tid_x},
        {"%tid.y", tid_y},
        {"%tid.z", tid_z},
        {"%ntid.x", ntid_x},
        {"%ntid.y", ntid_y},
        {"%ntid.z", ntid_z},
        {"%ctaid.x", ctaid_x},
        {"%ctaid.y", ctaid_y},
        {"%ctaid.z", ctaid_z},
        {"%nctaid.x", nctaid_x},
        {"%nctaid.y", nctaid_y},
        {"%nctaid.z", nctaid_z},
        {"%laneid", laneid},
        {"%warpid", warpid},
        {"%nwarpid", nwarpid},
        {"%smid", smid},
        {"%nsmid", nsmid},
        {"%gridid", gridid},
        {"%lanemask_eq", lanemask_eq},
        {"%lanemask_lt", lanemask_lt},
        {"%lanemask_le", lanemask_le},
        {"%lanemask_gt", lanemask_gt},
        {"%lanemask_ge", lanemask_ge},
        {"%dynamic_smem_size", dynamic_shared},
        {"%total_smem_size", total_shared},
        {"%aggr_smem_size", aggregate_shared},
        {"%reserved_smem_offset_begin", zero},
        {"%reserved_smem_offset_end", reserved_end},
        {"%reserved_smem_offset_cap", reserved_end},
        {"%reserved_smem_offset_1", reserved_tiles},
        {"%clusterid.x", clusterid_x},
        {"%clusterid.y", clusterid_y},
        {"%clusterid.z", clusterid_z},
        {"%nclusterid.x", nclusterid_x},
        {"%nclusterid.y", nclusterid_y},
        {"%nclusterid.z", nclusterid_z},
        {"%cluster_ctaid.x", cluster_ctaid_x},
        {"%cluster_ctaid.y", cluster_ctaid_y},
        {"%cluster_ctaid.z", cluster_ctaid_z},
        {"%cluster_nctaid.x", cluster_nctaid_x},
        {"%cluster_nctaid.y", cluster_nctaid_y},
        {"%cluster_nctaid.z", cluster_nctaid_z},
        {"%cluster_ctarank", cluster_ctarank},
        {"%cluster_nctarank", cluster_nctarank},
        // The address of the workspace by which the blocks of a cooperative launch meet (cooperative_groups).
        {"%envreg1", workspace_high},
        {"%envreg2", workspace_low},
    };
    const auto found = kNames.find(name);
    if (found == kNames.end()) return std::nullopt;
    return found->second;
}

uint32_t special_value(const Warp& warp, Special special, uint32_t lane) {
    const Block& block = *warp.block;
    const LaunchState& launch = *block.launch;
    const Dim3 thread = launch.thread_at(warp.thread(lane));
    const Dim3 cluster = launch.cluster;
    const Dim3 in_cluster{block.id.x % cluster.x, block.id.y % cluster.y, block.id.z % cluster.z};
    switch (special) {
        case Special::tid_x:
            return thread.x;
        case Special::tid_y:
            return thread.y;
        case Special::tid_z:
            return thread.z;
        case Special::ntid_x:
            return launch.block.x;
        case Special::ntid_y:
            return launch.block.y;
        case Special::ntid_z:
            return launch.block.z;
        case Special::ctaid_x:
            return block.id.x;
        case Special::ctaid_y:
            return block.id.y;
        case Special::ctaid_z:
            return block.id.z;
        case Special::nctaid_x:
            return launch.grid.x;
        case Special::nctaid_y:
            return launch.grid.y;
        case Special::nctaid_z:
            return launch.grid.z;
        case Special::laneid:
            return lane;
        case Special::warpid:
            return warp.index;
        case Special::nwarpid:
            return 64;
        case Special::smid:
            return static_cast<uint32_t>((block.linear * 7 + launch.seed + launch.schedule) % launch.sm_count);
        case Special::nsmid:
            return launch.sm_count;
        case Special::gridid:
            return static_cast<uint32_t>(launch.grid_id);
        case Special::lanemask_eq:
            return 1u << lane;
        case Special::lanemask_lt:
            return (1u << lane) - 1;
        case Special::lanemask_le:
            return (2u << lane) - 1;
        case Special::lanemask_gt:
            return ~((2u << lane) - 1);
        case Special::lanemask_ge:
            return ~((1u << lane) - 1);
        case Special::dynamic_shared:
            return launch.dynamic_shared;
        case Special::total_shared:
            return launch.program->static_shared_bytes + launch.dynamic_shared;
        case Special::aggregate_shared:
            return launch.program->static_shared_bytes + launch.dynamic_shared + kReservedShared;
        case Special::reserved_end:
            return kReservedShared;
        case Special::reserved_tiles:
            return kTileMemory;
        case Special::clusterid_x:
            return block.id.x / cluster.x;
        case Special::clusterid_y:
            return block.id.y / cluster.y;
        case Special::clusterid_z:
            return block.id.z / cluster.z;
        case Special::nclusterid_x:
            return launch.grid.x / cluster.x;
        case Special::nclusterid_y:
            return launch.grid.y / cluster.y;
        case Special::nclusterid_z:
            return launch.grid.z / cluster.z;
        case Special::cluster_ctaid_x:
            return in_cluster.x;
        case Special::cluster_ctaid_y:
            return in_cluster.y;
        case Special::cluster_ctaid_z:
            return in_cluster.z;
        case Special::cluster_nctaid_x:
            return cluster.x;
        case Special::cluster_nctaid_y:
            return cluster.y;
        case Special::cluster_nctaid_z:
            return cluster.z;
        case Special::cluster_ctarank:
            return in_cluster.x + cluster.x * (in_cluster.y + cluster.y * in_cluster.z);
        case Special::cluster_nctarank:
            return static_cast<uint32_t>(cluster.volume());
        case Special::workspace_high:
            return static_cast<uint32_t>(launch.workspace >> 32);
        case Special::workspace_low:
            return static_cast<uint32_t>(launch.workspace);
        case Special::is_explicit_cluster:
            return cluster.volume() > 1 ? kFullMask : 0;  // a predicate: all lanes in a word
        case Special::zero:
            return 0;
    }
    return 0;
}

}  // namespace recuda::vgpu
