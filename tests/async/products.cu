// A matrix product as the field writes it for sm_90: a warp loads swizzled tiles through four stages, multicast within a
// cluster of two; two groups of warps multiply by mma; the result goes back through tiles of two buffers. See suite.py.
//
//@ case product
//@ launch product<<<(4, 2), 160, 0, cluster=(2, 1, 1)>>>(tensormap(a, dims=(512, 128), box=(64, 32), swizzle=128), tensormap(b, dims=(512, 128), box=(64, 32), swizzle=128), tensormap(c, dims=(128, 128), box=(16, 64)), 8)
//@ buffer a:bf16[128,512]=uniform(-1,1)
//@ buffer b:bf16[128,512]=uniform(-1,1)
//@ buffer c:f32[128,128]=uninit
//@ holds all(abs(c[128 * i + j] - sum(a[512 * i + k] * b[512 * j + k] for k in range(512))) < 1e-3 for i, j in [(0, 0), (5, 77), (64, 32), (127, 127), (31, 96), (70, 3)])
//
//@ case unchecked_stage
//@ launch product<<<(4, 2), 160, 0, cluster=(2, 1, 1)>>>(tensormap(a, dims=(512, 128), box=(64, 32), swizzle=128), tensormap(b, dims=(512, 128), box=(64, 32), swizzle=128), tensormap(c, dims=(128, 128), box=(16, 64)), 8)
//@ define NO_EMPTY_WAIT=1
//@ buffer a:bf16[128,512]=uniform(-1,1)
//@ buffer b:bf16[128,512]=uniform(-1,1)
//@ buffer c:f32[128,128]=uninit
//@ fault illegal_instruction product:arrive
//
//@ case early_product
//@ launch early_product<<<1, 160>>>(x, y)
//@ target sm_90a
//@ buffer x:f16[1024]=iota
//@ buffer y:f32[512]=uninit
//@ fault shared_race early:product early:copy
//
//@ case operand_overwritten
//@ launch reused_operand<<<1, 256>>>(y)
//@ target sm_90a
//@ define NO_BARRIER=1
//@ buffer y:f32[512]=uninit
//@ fault shared_race reused:product reused:write
//
//@ case operand_handed_on
//@ launch reused_operand<<<1, 256>>>(y)
//@ target sm_90a
//@ buffer y:f32[512]=uninit
//@ holds all(v == 16 for v in y)
//
//@ case operand_handed_on_by_another_warp
//@ launch reused_operand<<<1, 256>>>(y)
//@ target sm_90a
//@ define LAST_WARP=1
//@ buffer y:f32[512]=uninit
//@ holds all(v == 16 for v in y)
//
//@ case operand_loaded_over
//@ launch loaded_over<<<1, 288>>>(x, y)
//@ target sm_90a
//@ define ONE_FOR_BOTH=1
//@ buffer x:f16[4096]=const(1)
//@ buffer y:f32[1024]=uninit
//@ fault shared_race over:product over:copy
//
//@ case operand_loaded_in_turn
//@ launch loaded_over<<<1, 288>>>(x, y)
//@ target sm_90a
//@ buffer x:f16[4096]=const(1)
//@ buffer y:f32[1024]=uninit
//@ holds all(v == 64 for v in y)
//
//@ case reused_output
//@ launch product<<<(4, 2), 160, 0, cluster=(2, 1, 1)>>>(tensormap(a, dims=(512, 128), box=(64, 32), swizzle=128), tensormap(b, dims=(512, 128), box=(64, 32), swizzle=128), tensormap(c, dims=(128, 128), box=(16, 64)), 8)
//@ define NO_STORE_WAIT=1
//@ buffer a:bf16[128,512]=uniform(-1,1)
//@ buffer b:bf16[128,512]=uniform(-1,1)
//@ buffer c:f32[128,128]=uninit
//@ fault shared_race output:write output:store
typedef unsigned u32;
typedef unsigned short u16;
typedef unsigned long long u64;

struct alignas(64) TensorMap {
    unsigned char bytes[128];
};

__device__ __forceinline__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void wait(u32 barrier, u32 parity) {
    asm volatile("{\n .reg .pred p;\n again:\n mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n @p bra done;\n bra again;\n done:\n }" ::"r"(barrier), "r"(parity) : "memory");
}
__device__ __forceinline__ u32 cluster_rank() {
    u32 rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
__device__ __forceinline__ void arrive_at(u32 barrier, u32 rank) {
    asm volatile("{ .reg .b32 remote; mapa.shared::cluster.u32 remote, %0, %1; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote]; }" ::"r"(barrier), "r"(rank) : "memory");
}
__device__ __forceinline__ void load(u32 to, const TensorMap* map, int x, int y, u32 barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(barrier) : "memory");
}
__device__ __forceinline__ void load_for_both(u32 to, const TensorMap* map, int x, int y, u32 barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(barrier), "h"((u16)3) : "memory");
}
__device__ __forceinline__ void matrices(u32 (&part)[4], u32 tile, u32 row, u32 piece) {
    u32 address = tile + row * 128 + piece * 16;
    address ^= address >> 3 & 0x70;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(part[0]), "=r"(part[1]), "=r"(part[2]), "=r"(part[3]) : "r"(address) : "memory");
}

constexpr u32 kStages = 4, kTile = 64 * 128, kHalf = kTile / 2;

// c = a · bᵀ in tiles of 64 rows and 32 columns of c a block; both blocks of a cluster share their rows of a, of which
// each loads a half.
extern "C" __global__ void __cluster_dims__(2, 1, 1) product(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, const __grid_constant__ TensorMap c, u32 steps) {
    __shared__ alignas(1024) unsigned char left[kStages][kTile], right[kStages][kHalf];
    __shared__ alignas(128) float result[2][64][16];
    __shared__ u64 full[kStages], empty[kStages];
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, rank = cluster_rank();
    if (threadIdx.x == 0) {
        for (u32 s = 0; s < kStages; ++s) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full[s])) : "memory");
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 8;" ::"r"(shared_address(&empty[s])) : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (warp == 4) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        u32 elected;
        asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(elected));
        if (elected) {
            asm volatile("prefetch.tensormap [%0];" ::"l"(&a) : "memory");
            for (u32 step = 0; step < steps; ++step) {
                const u32 s = step % kStages, at = shared_address(&full[s]);
#ifndef NO_EMPTY_WAIT
                wait(shared_address(&empty[s]), (step / kStages % 2) ^ 1);
#endif
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(kTile + kHalf) : "memory");  // <- product:arrive
                load_for_both(shared_address(left[s]) + rank * kHalf, &a, step * 64, blockIdx.y * 64 + rank * 32, at);
                load(shared_address(right[s]), &b, step * 64, blockIdx.x * 32, at);
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
        float sum[4][4] = {};
        for (u32 step = 0; step < steps; ++step) {
            const u32 s = step % kStages;
            wait(shared_address(&full[s]), step / kStages % 2);
            for (u32 k = 0; k < 4; ++k) {
                u32 rows[4], columns[2][4];
                matrices(rows, shared_address(left[s]), warp * 16 + lane % 16, k * 2 + lane / 16);
                for (u32 n = 0; n < 2; ++n)
                    matrices(columns[n], shared_address(right[s]), n * 16 + lane % 8 + lane / 16 * 8, k * 2 + lane / 8 % 2);
                for (u32 n = 0; n < 4; ++n)
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" : "+f"(sum[n][0]), "+f"(sum[n][1]), "+f"(sum[n][2]), "+f"(sum[n][3]) : "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3]), "r"(columns[n / 2][n % 2 * 2]), "r"(columns[n / 2][n % 2 * 2 + 1]));
            }
            __syncwarp();
            if (lane < 2) arrive_at(shared_address(&empty[s]), lane);
        }
        // Two tiles of 16 columns, each written twice over one of two buffers.
        for (u32 n = 0; n < 4; ++n) {
            float(&tile)[64][16] = result[n / 2 % 2];
            const u32 row = warp * 16 + lane / 4, column = n % 2 * 8 + lane % 4 * 2;
            tile[row][column] = sum[n][0], tile[row][column + 1] = sum[n][1];
            tile[row + 8][column] = sum[n][2], tile[row + 8][column + 1] = sum[n][3];
            if (n % 2 == 0) continue;
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            asm volatile("bar.sync 1, 128;" ::: "memory");
            if (threadIdx.x == 0) {
                asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&c), "r"(blockIdx.x * 32 + n / 2 * 16), "r"(blockIdx.y * 64), "r"(shared_address(tile)) : "memory");  // <- output:store
                asm volatile("cp.async.bulk.commit_group;" ::: "memory");
            }
        }
#ifdef NO_STORE_WAIT
        asm volatile("bar.sync 1, 128;" ::: "memory");
        result[1][warp * 16 + lane % 16][lane / 16] = 0;  // <- output:write
#else
        if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        asm volatile("bar.sync 1, 128;" ::: "memory");
        result[1][warp * 16 + lane % 16][lane / 16] = 0;
#endif
    }
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Four warps multiply what the fifth loads, and do not wait for it.
extern "C" __global__ void early_product(const u16* x, float* y) {
    __shared__ alignas(1024) u16 tiles[1024];
    __shared__ u64 full;
    const u32 at = shared_address(&full);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
    __syncthreads();
    if (threadIdx.x == 128) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 2048;" ::"r"(at) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 2048, [%2];" ::"r"(shared_address(tiles)), "l"(x), "r"(at) : "memory");  // <- early:copy
    } else if (threadIdx.x < 128) {
        const u64 matrix = shared_address(tiles) >> 4 & 0x3fff | u64{1} << 16 | u64{8} << 32;
        float sum[4] = {};
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %4, 1, 1, 1, 0, 0;" : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]) : "l"(matrix));  // <- early:product
        asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
        for (u32 i = 0; i < 4; ++i) y[threadIdx.x * 4 + i] = sum[i];
    }
}

// A second group of warps writes an operand of the first one's product after that has been waited for: with no barrier in between nothing
// orders the two, although by then the product is long over. Any of the four warps may hand the operand on.
extern "C" __global__ void reused_operand(float* y) {
    __shared__ alignas(1024) u16 tiles[1024];
    for (u32 i = threadIdx.x; i < 1024; i += 256) tiles[i] = 0x3c00;
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (threadIdx.x < 128) {
        const u64 matrix = shared_address(tiles) >> 4 & 0x3fff | u64{1} << 16 | u64{8} << 32;
        float sum[4] = {};
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %4, 1, 1, 1, 0, 0;" : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]) : "l"(matrix));  // <- reused:product
        asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
#if defined(LAST_WARP)
        if (threadIdx.x >= 96) asm volatile("bar.arrive 1, 160;" ::: "memory");
#elif !defined(NO_BARRIER)
        asm volatile("bar.arrive 1, 256;" ::: "memory");
#endif
        for (u32 i = 0; i < 4; ++i) y[threadIdx.x * 4 + i] = sum[i];
    } else {
#if defined(LAST_WARP)
        asm volatile("bar.sync 1, 160;" ::: "memory");
#elif !defined(NO_BARRIER)
        asm volatile("bar.sync 1, 256;" ::: "memory");
#else
        for (volatile u32 i = 0; i < 2000; i = i + 1) {}
#endif
        for (u32 i = threadIdx.x - 128; i < 1024; i += 128) tiles[i] = 0x4000;  // <- reused:write
    }
}

// A slot that a warp fills four times for two groups of warps. Each says that it is done with it; where one says so for both, the other's
// products may still be under way, or be over in no order with the next copy.
extern "C" __global__ void loaded_over(const u16* x, float* y) {
    __shared__ alignas(1024) u16 tiles[1024];
    __shared__ u64 full, empty;
    const u32 filled = shared_address(&full), free = shared_address(&empty);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(filled) : "memory");
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 2;" ::"r"(free) : "memory");
    }
    __syncthreads();
    if (threadIdx.x == 256) {
        for (u32 i = 0; i < 4; ++i) {
            if (i > 0) wait(free, (i - 1) & 1);
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 2048;" ::"r"(filled) : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 2048, [%2];" ::"r"(shared_address(tiles)), "l"(x + 1024 * i), "r"(filled) : "memory");  // <- over:copy
        }
    } else if (threadIdx.x < 256) {
        const u64 matrix = shared_address(tiles) >> 4 & 0x3fff | u64{1} << 16 | u64{8} << 32;
        float sum[4] = {};
        for (u32 i = 0; i < 4; ++i) {
            wait(filled, i & 1);
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %4, 1, 1, 1, 0, 0;" : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]) : "l"(matrix));  // <- over:product
            asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
#ifdef ONE_FOR_BOTH
            if (threadIdx.x == 128)
                for (u32 twice = 0; twice < 2; ++twice) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(free) : "memory");
#else
            if (threadIdx.x % 128 == 0) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(free) : "memory");
#endif
        }
        for (u32 i = 0; i < 4; ++i) y[threadIdx.x * 4 + i] = sum[i];
    }
}
