// Tensor copies that are right: what suite.py runs on either device. Lines `//@` belong to the case above them.
//
//@ case pipeline
//@ launch pipeline<<<(2, 3), 160>>>(tensormap(x, dims=(128, 96), box=(32, 8)), tensormap(y, dims=(128, 96), box=(32, 8)))
//@ buffer x:f32[96,128]=iota
//@ buffer y:f32[96,128]=uninit
//@ holds all(b == 2 * a + 1 for a, b in zip(x, y))
//
//@ case swizzle_32
//@ launch swizzle<<<1, 32>>>(tensormap(x, dims=(16, 64), box=(16, 64), swizzle=32), y, 32)
//@ buffer x:u16[64,16]=iota
//@ buffer y:u16[64,16]=uninit
//@ holds y == x
//
//@ case swizzle_64
//@ launch swizzle<<<1, 32>>>(tensormap(x, dims=(32, 64), box=(32, 64), swizzle=64), y, 64)
//@ buffer x:u16[64,32]=iota
//@ buffer y:u16[64,32]=uninit
//@ holds y == x
//
//@ case swizzle_128
//@ launch swizzle<<<1, 32>>>(tensormap(x, dims=(64, 64), box=(64, 64), swizzle=128), y, 128)
//@ buffer x:u16[64,64]=iota
//@ buffer y:u16[64,64]=uninit
//@ holds y == x
//
//@ case raw_swizzle_128
//@ launch raw<<<1, 128>>>(tensormap(x, dims=(16, 8), box=(16, 8), swizzle=128), raw, 512, 1)
//@ buffer x:f32[8,16]=iota
//@ buffer raw:f32[2048]=zeros
//
//@ case raw_nan
//@ launch raw<<<1, 128>>>(tensormap(x, dims=(12, 6), strides=(64), box=(16, 8), oob=nan), raw, 512, 1)
//@ buffer x:f32[6,16]=iota
//@ buffer raw:u32[2048]=zeros
//
//@ case raw_nan_bf16
//@ launch raw<<<1, 128>>>(tensormap(x, dims=(24, 6), strides=(64), box=(32, 8), oob=nan), raw, 512, 1)
//@ buffer x:bf16[6,32]=iota
//@ buffer raw:u32[2048]=zeros
//
//@ case element_strides
//@ launch raw<<<1, 128>>>(tensormap(x, dims=(16, 16), box=(16, 8), elementstrides=(1, 2)), raw, 256, 1)
//@ buffer x:f32[16,16]=iota
//@ buffer raw:f32[2048]=zeros
//@ holds raw[:64] == [x[16 * (1 + 2 * (i // 16)) + i % 16] for i in range(64)]
//
//@ case raw_nan_f16
//@ launch raw<<<1, 128>>>(tensormap(x, dims=(24, 6), strides=(64), box=(32, 8), oob=nan), raw, 512, 1)
//@ buffer x:f16[6,32]=iota
//@ buffer raw:u32[2048]=zeros
//
//@ case raw_nan_f64
//@ launch raw<<<1, 128>>>(tensormap(x, dims=(6, 6), strides=(64), box=(8, 8), oob=nan), raw, 512, 1)
//@ buffer x:f64[6,8]=iota
//@ buffer raw:u32[2048]=zeros
//
//@ case edges_3d
//@ launch edges<<<(3, 2, 3), 64>>>(tensormap(x, dims=(20, 6, 5), box=(8, 4, 2)), tensormap(y, dims=(20, 6, 5), box=(8, 4, 2)), z)
//@ buffer x:f32[5,6,20]=iota
//@ buffer y:f32[5,6,20]=zeros
//@ buffer z:f32[18,64]=uninit
//@ holds all(b == a + 1 for a, b in zip(x, y))
//
//@ case outside_3d
//@ launch edges<<<(4, 3, 4), 64>>>(tensormap(x, dims=(20, 6, 5), box=(8, 4, 2)), tensormap(y, dims=(20, 6, 5), box=(8, 4, 2)), z)
//@ buffer x:f32[5,6,20]=iota
//@ buffer y:f32[5,6,20]=zeros
//@ buffer z:f32[48,64]=uninit
//@ holds all(b == a + 1 for a, b in zip(x, y))
//
//@ case store_before_x
//@ launch store_at<<<1, 32>>>(tensormap(x, dims=(20, 6, 5), box=(8, 4, 2)), -4, 0, 0)
//@ buffer x:f32[5,6,20]=zeros
//@ fault_anywhere illegal_instruction store_at
//
//@ case store_before_y
//@ launch store_at<<<1, 32>>>(tensormap(x, dims=(20, 6, 5), box=(8, 4, 2)), 0, -1, 0)
//@ buffer x:f32[5,6,20]=zeros
//@ fault_anywhere illegal_instruction store_at
//
//@ case store_before_z
//@ launch store_at<<<1, 32>>>(tensormap(x, dims=(20, 6, 5), box=(8, 4, 2)), 0, 0, -1)
//@ buffer x:f32[5,6,20]=zeros
//@ fault_anywhere illegal_instruction store_at
//
//@ case store_behind
//@ launch store_at<<<1, 32>>>(tensormap(x, dims=(20, 6, 5), box=(8, 4, 2)), 16, 5, 4)
//@ buffer x:f32[5,6,20]=zeros
//@ holds x[:596] == [0] * 596 and x[596:] == [1, 2, 3, 4]
//
//@ case store_behind_in_the_last_16_bytes
//@ launch store_at<<<1, 32>>>(tensormap(x, dims=(9, 4, 2), strides=(48, 192), box=(8, 4, 2)), 8, 0, 0)
//@ buffer x:f32[2,4,12]=zeros
//@ holds x == [8 * r + c - 7 if c >= 8 else 0 for r in range(8) for c in range(12)]
//
//@ case load_ends_with_the_tensor
//@ launch raw<<<1, 128>>>(tensormap(x, dims=(9, 8), strides=(64), box=(16, 8)), raw, 512, 0)
//@ buffer x:f32[8,16]=iota
//@ buffer raw:f32[2048]=zeros
//@ holds raw[:128] == [16 * r + c if c < 9 else 0 for r in range(8) for c in range(16)]
//
//@ case store_unaligned
//@ launch store_at<<<1, 32>>>(tensormap(x, dims=(20, 6, 5), box=(8, 4, 2)), 17, 5, 4)
//@ buffer x:f32[5,6,20]=zeros
//@ fault_anywhere illegal_instruction store_at
//
//@ case dimension_1
//@ launch one<<<1, 32>>>(tensormap(x, dims=(64), box=(16)), y, -4)
//@ buffer x:f32[64]=iota
//@ buffer y:f32[16]=uninit
//@ holds y == [0] * 4 + x[:12]
//
//@ case load_unaligned
//@ launch one<<<1, 32>>>(tensormap(x, dims=(64), box=(16)), y, 2)
//@ buffer x:f32[64]=iota
//@ buffer y:f32[16]=uninit
//@ fault_anywhere illegal_instruction one
//
//@ case dimensions_4
//@ launch four<<<1, 32>>>(tensormap(x, dims=(8, 2, 2, 2), box=(8, 1, 2, 2)), y)
//@ buffer x:f32[64]=iota
//@ buffer y:f32[32]=uninit
//@ holds y == [x[16 * (i // 8) + 8 + i % 8] for i in range(32)]
//
//@ case dimensions_5
//@ launch five<<<1, 32>>>(tensormap(x, dims=(4, 2, 2, 2, 2), box=(4, 2, 1, 2, 2)), y)
//@ buffer x:f32[64]=iota
//@ buffer y:f32[32]=uninit
//@ holds y == [x[16 * (i // 8) + 8 + i % 8] for i in range(32)]
//
//@ case multicast_2
//@ launch multicast<<<8, 64, 0, cluster=(2, 1, 1)>>>(tensormap(x, dims=(32, 32), box=(32, 4)), y, 2)
//@ buffer x:f32[32,32]=iota
//@ buffer y:f32[8,256]=uninit
//@ holds y == [x[256 * (b // 2) + i] for b in range(8) for i in range(256)]
//
//@ case multicast_4
//@ launch multicast<<<8, 64, 0, cluster=(4, 1, 1)>>>(tensormap(x, dims=(32, 32), box=(32, 4)), y, 4)
//@ buffer x:f32[32,32]=iota
//@ buffer y:f32[8,512]=uninit
//@ holds y == [x[512 * (b // 4) + i] for b in range(8) for i in range(512)]
//
//@ case reduce_add
//@ launch reduce<<<4, 64>>>(tensormap(x, dims=(10, 6), strides=(48), box=(8, 4)), 0, 0)
//@ buffer x:f32[6,12]=iota
//@ holds x == [12 * r + c + sum(8 * (r - b) + c - 4 * b for b in range(4) if 0 <= r - b < 4 and 0 <= c - 4 * b < 8) for r in range(6) for c in range(12)]
//
//@ case reduce_max
//@ launch reduce<<<4, 64>>>(tensormap(x, dims=(10, 6), strides=(48), box=(8, 4)), 0, 1)
//@ buffer x:i32[6,12]=iota
//@ holds x == [max([12 * r + c] + [40 + 8 * (r - b) + c - 4 * b for b in range(4) if 0 <= r - b < 4 and 0 <= c - 4 * b < 8]) for r in range(6) for c in range(12)]
//
//@ case reduce_before
//@ launch reduce<<<1, 64>>>(tensormap(x, dims=(10, 6), strides=(48), box=(8, 4)), -1, 0)
//@ buffer x:f32[6,12]=iota
//@ fault_anywhere illegal_instruction reduce:add
//
//@ case replaced
//@ launch replaced<<<2, 32>>>(tensormap(x, dims=(8, 8), box=(8, 4)), x, maps, y)
//@ buffer x:f32[16,16]=iota
//@ buffer maps:u8[256]=zeros
//@ buffer y:f32[2,64]=uninit
//@ hide maps
//@ holds y == x[:64] + x[128:192]
typedef unsigned u32;
typedef unsigned short u16;
typedef unsigned long long u64;

struct alignas(64) TensorMap {
    unsigned char bytes[128];
};

__device__ __forceinline__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ u64 generic(const TensorMap& map) { return (u64)&map; }

__device__ __forceinline__ void init(u64* barrier, u32 count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}
__device__ __forceinline__ void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ __forceinline__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ __forceinline__ void arrive(u64* barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
__device__ __forceinline__ void expect(u64* barrier, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void wait(u64* barrier, u32 parity) {
    asm volatile("{\n .reg .pred p;\n again:\n mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n @p bra done;\n bra again;\n done:\n }" ::"r"(shared_address(barrier)), "r"(parity) : "memory");
}
__device__ __forceinline__ void load(void* to, const TensorMap& map, int x, int y, u64* barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)), "l"(generic(map)), "r"(x), "r"(y), "r"(shared_address(barrier)) : "memory");
}
__device__ __forceinline__ void store(const TensorMap& map, int x, int y, const void* from) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(generic(map)), "r"(x), "r"(y), "r"(shared_address(from)) : "memory");
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Three stages: a warp loads, four warps compute in place, one of their threads stores.
extern "C" __global__ void pipeline(const __grid_constant__ TensorMap from, const __grid_constant__ TensorMap to) {
    constexpr u32 kStages = 3, kRows = 8, kColumns = 32;
    __shared__ alignas(128) float tile[kStages][kRows][kColumns];
    __shared__ u64 full[kStages], empty[kStages];
    const u32 t = threadIdx.x;
    if (t == 0) {
        for (u32 s = 0; s < kStages; ++s) init(&full[s], 1), init(&empty[s], 1);
        fence_init();
    }
    __syncthreads();
    const u32 tiles = 4 * 12 / (gridDim.x * gridDim.y), first = (blockIdx.x + gridDim.x * blockIdx.y) * tiles;
    for (u32 i = 0; i < tiles; ++i) {
        const u32 s = i % kStages, turn = i / kStages;
        const int x = (first + i) % 4 * kColumns, y = (first + i) / 4 * kRows;
        if (t == 128) {
            if (turn > 0) wait(&empty[s], (turn - 1) % 2);
            expect(&full[s], sizeof tile[0]);
            load(tile[s], from, x, y, &full[s]);
        } else if (t < 128) {
            wait(&full[s], turn % 2);
            for (u32 e = t; e < kRows * kColumns; e += 128) (&tile[s][0][0])[e] = 2 * (&tile[s][0][0])[e] + 1;
            fence_async();
            asm volatile("bar.sync 1, 128;" ::: "memory");
            if (t == 0) {
                store(to, x, y, tile[s]);
                commit();
                asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
                arrive(&empty[s]);
            }
        }
    }
    if (t == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// A tile with `span`-byte rows of 16-bit elements, read back through ldmatrix with the swizzle's XOR.
extern "C" __global__ void swizzle(const __grid_constant__ TensorMap map, u16* y, u32 span) {
    __shared__ alignas(1024) unsigned char tile[8192];
    __shared__ u64 full;
    const u32 lane = threadIdx.x;
    if (lane == 0) {
        init(&full, 1);
        fence_init();
        expect(&full, 64 * span);
        load(tile, map, 0, 0, &full);
    }
    __syncwarp();
    wait(&full, 0);
    for (u32 row = 0; row < 64; row += 32)
        for (u32 piece = 0; piece < span / 16; ++piece) {
            u32 address = shared_address(tile) + (row + lane) * span + piece * 16;
            address ^= address >> 3 & (span - 16);
            u32 part[4];
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(part[0]), "=r"(part[1]), "=r"(part[2]), "=r"(part[3]) : "r"(address));
            for (u32 i = 0; i < 4; ++i)
                *(u32*)&y[(row + 8 * i + lane / 4) * (span / 2) + piece * 8 + lane % 4 * 2] = part[i];
        }
}

// The bytes of a tile as they lie in shared memory, loaded from row `first` on; zeros where nothing was written.
extern "C" __global__ void raw(const __grid_constant__ TensorMap map, u32* out, u32 bytes, int first) {
    __shared__ alignas(1024) u32 tile[2048];
    __shared__ u64 full;
    for (u32 i = threadIdx.x; i < 2048; i += blockDim.x) tile[i] = 0;
    if (threadIdx.x == 0) {
        init(&full, 1);
        fence_init();
    }
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        expect(&full, bytes);
        load(tile, map, 0, first, &full);
    }
    wait(&full, 0);
    for (u32 i = threadIdx.x; i < 2048; i += blockDim.x) out[i] = tile[i];
}

__device__ __forceinline__ void load_3d(void* to, const TensorMap& map, int x, int y, int z, u64* barrier) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(shared_address(to)), "l"(generic(map)), "r"(x), "r"(y), "r"(z), "r"(shared_address(barrier)) : "memory");
}
__device__ __forceinline__ void store_3d(const TensorMap& map, int x, int y, int z, const void* from) {
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(generic(map)), "r"(x), "r"(y), "r"(z), "r"(shared_address(from)) : "memory");
}

// Boxes that begin before the tensor are loaded, and some that end behind it or lie there loaded and stored; z has what
// the former gave, y the tensor plus one.
extern "C" __global__ void edges(const __grid_constant__ TensorMap from, const __grid_constant__ TensorMap to, float* z) {
    __shared__ alignas(128) float tile[2][64];
    __shared__ u64 full;
    const int x = (int)blockIdx.x * 8, y = (int)blockIdx.y * 4, plane = (int)blockIdx.z * 2;
    const u32 t = threadIdx.x;
    if (t == 0) {
        init(&full, 1);
        fence_init();
        expect(&full, sizeof tile);
        load_3d(tile[0], from, x - 4, y - 3, plane - 1, &full);
        load_3d(tile[1], from, x, y, plane, &full);
    }
    __syncthreads();
    wait(&full, 0);
    z[64 * (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)) + t] = tile[0][t];
    tile[1][t] += 1;
    fence_async();
    __syncthreads();
    if (t == 0) {
        store_3d(to, x, y, plane, tile[1]);
        commit();
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
}

extern "C" __global__ void store_at(const __grid_constant__ TensorMap to, int x, int y, int z) {
    __shared__ alignas(128) float tile[64];
    for (u32 i = threadIdx.x; i < 64; i += 32) tile[i] = i + 1;
    fence_async();
    __syncwarp();
    if (threadIdx.x == 0) {
        store_3d(to, x, y, z, tile);  // <- store_at
        commit();
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
}

extern "C" __global__ void one(const __grid_constant__ TensorMap map, float* y, int start) {
    __shared__ alignas(128) float tile[16];
    __shared__ u64 full;
    if (threadIdx.x == 0) {
        init(&full, 1);
        fence_init();
        expect(&full, sizeof tile);
        asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];" ::"r"(shared_address(tile)), "l"(generic(map)), "r"(start), "r"(shared_address(&full)) : "memory");  // <- one
    }
    __syncwarp();
    wait(&full, 0);
    if (threadIdx.x < 16) y[threadIdx.x] = tile[threadIdx.x];
}

extern "C" __global__ void four(const __grid_constant__ TensorMap map, float* y) {
    __shared__ alignas(128) float tile[32];
    __shared__ u64 full;
    if (threadIdx.x == 0) {
        init(&full, 1);
        fence_init();
        expect(&full, sizeof tile);
        asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(shared_address(tile)), "l"(generic(map)), "r"(0), "r"(1), "r"(0), "r"(0), "r"(shared_address(&full)) : "memory");
    }
    __syncwarp();
    wait(&full, 0);
    y[threadIdx.x] = tile[threadIdx.x];
}

extern "C" __global__ void five(const __grid_constant__ TensorMap map, float* y) {
    __shared__ alignas(128) float tile[32];
    __shared__ u64 full;
    if (threadIdx.x == 0) {
        init(&full, 1);
        fence_init();
        expect(&full, sizeof tile);
        asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5, %6}], [%7];" ::"r"(shared_address(tile)), "l"(generic(map)), "r"(0), "r"(0), "r"(1), "r"(0), "r"(0), "r"(shared_address(&full)) : "memory");
    }
    __syncwarp();
    wait(&full, 0);
    y[threadIdx.x] = tile[threadIdx.x];
}

// Each block of a cluster loads four rows for all of them.
extern "C" __global__ void multicast(const __grid_constant__ TensorMap map, float* y, u32 blocks) {
    __shared__ alignas(128) float tile[4][128];
    __shared__ u64 full;
    u32 rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) {
        init(&full, 1);
        fence_init();
    }
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x == 0) {
        expect(&full, blocks * sizeof tile[0]);
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(tile[rank])), "l"(generic(map)), "r"(0), "r"(blockIdx.x * 4), "r"(shared_address(&full)), "h"((u16)((1u << blocks) - 1)) : "memory");
    }
    wait(&full, 0);
    for (u32 i = threadIdx.x; i < blocks * 128; i += blockDim.x) y[blockIdx.x * blocks * 128 + i] = tile[i / 128][i % 128];
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}

// Blocks reduce boxes that overlap, some beyond the tensor.
extern "C" __global__ void reduce(const __grid_constant__ TensorMap map, int first, u32 largest) {
    __shared__ alignas(128) u32 tile[32];
    if (threadIdx.x < 32) tile[threadIdx.x] = largest ? 40 + threadIdx.x : __float_as_uint(threadIdx.x);
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        const int x = (int)blockIdx.x * 4 + first, y = blockIdx.x;
        if (largest)
            asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.max.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(generic(map)), "r"(x), "r"(y), "r"(shared_address(tile)) : "memory");
        else
            asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(generic(map)), "r"(x), "r"(y), "r"(shared_address(tile)) : "memory");  // <- reduce:add
        commit();
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
}

// As grouped matrix products do: a map is copied to shared memory, changed there, and published in global memory.
extern "C" __global__ void replaced(const __grid_constant__ TensorMap map, const float* x, TensorMap* maps, float* y) {
    __shared__ alignas(128) u32 changed[32];
    __shared__ alignas(128) float tile[64];
    __shared__ u64 full;
    const u32 lane = threadIdx.x;
    changed[lane] = ((const u32*)map.bytes)[lane];
    __syncwarp();
    const u32 at = shared_address(changed);
    if (lane == 0) {
        asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(at), "l"((u64)(x + 128 * blockIdx.x)) : "memory");
        asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 0, %1;" ::"r"(at), "r"(16) : "memory");
        asm volatile("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], 0, %1;" ::"r"(at), "l"(64ull) : "memory");
        asm volatile("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%0], 0, %1;" ::"r"(at), "r"(16) : "memory");
    }
    __syncwarp();
    TensorMap* const mine = maps + blockIdx.x;
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(mine), "r"(at) : "memory");
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(mine) : "memory");
    if (lane == 0) {
        init(&full, 1);
        fence_init();
        expect(&full, sizeof tile);
        load(tile, *mine, 0, 0, &full);
    }
    __syncwarp();
    wait(&full, 0);
    for (u32 i = lane; i < 64; i += 32) y[64 * blockIdx.x + i] = tile[i];
}
