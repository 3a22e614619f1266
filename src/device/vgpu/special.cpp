#include "device/vgpu/special.h"

#include <unordered_map>

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
        {"%aggr_smem_size", total_shared},
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

}  // namespace recuda::vgpu
