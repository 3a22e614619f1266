// wgmma.mma_async as it is decoded; wgmma.cpp runs it.
#pragma once

#include <optional>
#include <vector>

#include "device/vgpu/ops/sparse.h"
#include "device/vgpu/ops/tensor_sum.h"

namespace recuda::vgpu {

inline constexpr uint32_t kMostWarpgroupColumns = 256;

/// in.a and in.b: registers of the descriptors, in.c: the predicate scale-d.
struct Wgmma : Extra {
    Product product;
    uint32_t columns = 8;
    std::vector<uint32_t> a, d;                 // register offsets; no A: it lies in shared memory
    uint32_t keeps_unless = 0;                  // 1: the predicate is negated
    bool a_by_rows = false, b_by_rows = false;  // MN-major
    std::optional<Sparsity> sparse;
    uint32_t metadata = 0;  // register offset
};

/// Whether an instruction is one of these, however it is wrapped.
bool is_async_product(const Instruction& in);

void run_wgmma(Warp& warp, const Instruction& in, Mask active);
void run_wgmma_fence(Warp& warp, const Instruction& in, Mask active);
void run_wgmma_commit(Warp& warp, const Instruction& in, Mask active);
/// in.immediate: how many groups may stay under way.
void run_wgmma_wait(Warp& warp, const Instruction& in, Mask active);

}  // namespace recuda::vgpu
