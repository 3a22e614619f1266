// Asynchronous copies that are wrong, each with the report that it must get; see suite.py.
//
//@ case no_wait
//@ launch no_wait<<<1, 64>>>(x, y)
//@ buffer x:f32[64]=iota
//@ buffer y:f32[64]=uninit
//@ fault shared_race no_wait:copy no_wait:read
//
//@ case no_barrier
//@ launch no_barrier<<<1, 64>>>(x, y)
//@ buffer x:f32[64]=iota
//@ buffer y:f32[64]=uninit
//@ fault shared_race no_barrier:copy no_barrier:read
//
//@ case one_group_short
//@ launch one_group_short<<<1, 64>>>(x, y)
//@ buffer x:f32[128]=iota
//@ buffer y:f32[64]=uninit
//@ fault shared_race one_group_short:copy one_group_short:read
//
//@ case bulk_no_wait
//@ launch bulk_no_wait<<<1, 64>>>(x, y)
//@ buffer x:f32[64]=iota
//@ buffer y:f32[64]=uninit
//@ fault shared_race bulk_no_wait:copy bulk_no_wait:read
//
//@ case one_waits
//@ launch one_waits<<<1, 64>>>(x, y)
//@ buffer x:f32[64]=iota
//@ buffer y:f32[64]=uninit
//@ fault shared_race one_waits:copy one_waits:read
//
//@ case wrong_parity
//@ launch wrong_parity<<<1, 64>>>(x, y)
//@ buffer x:f32[64]=iota
//@ buffer y:f32[64]=uninit
//@ fault shared_race wrong_parity:copy wrong_parity:read
//
//@ case reused_stage
//@ launch reused_stage<<<1, 64>>>(x, y)
//@ buffer x:f32[512]=iota
//@ buffer y:f32[512]=uninit
//@ fault shared_race reused_stage:copy reused_stage:read
//
//@ case tile_no_wait
//@ launch tile_no_wait<<<1, 64>>>(tensormap(x, dims=(16, 16), box=(16, 4)), y)
//@ buffer x:f32[16,16]=iota
//@ buffer y:f32[64]=uninit
//@ fault shared_race tile_no_wait:copy tile_no_wait:read
//
//@ case source_overwritten
//@ launch source_overwritten<<<1, 64>>>(y, 0)
//@ buffer y:f32[64]=uninit
//@ fault shared_race source_overwritten:copy source_overwritten:write
//
//@ case source_kept
//@ launch source_overwritten<<<1, 64>>>(y, 1)
//@ buffer y:f32[64]=uninit
//@ holds y == [float(i) for i in range(64)]
//
//@ case stored_not_waited
//@ launch stored_not_waited<<<1, 64>>>(y, z, 0)
//@ buffer y:f32[64]=zeros
//@ buffer z:f32[64]=uninit
//@ fault global_race stored_not_waited:copy stored_not_waited:read
//
//@ case stored_and_waited
//@ launch stored_not_waited<<<1, 64>>>(y, z, 1)
//@ buffer y:f32[64]=zeros
//@ buffer z:f32[64]=uninit
//@ holds y == z and y[5] == 5
//
//@ case no_expect
//@ launch no_expect<<<1, 32>>>(x, y)
//@ buffer x:f32[64]=iota
//@ buffer y:f32[64]=uninit
//@ fault deadlock no_expect:wait
//
//@ case too_many_bytes
//@ launch wrong_bytes<<<1, 32>>>(x, y, 512)
//@ buffer x:f32[64]=iota
//@ buffer y:f32[64]=uninit
//@ fault deadlock wrong_bytes:wait
//
//@ case too_few_bytes
//@ launch wrong_bytes<<<1, 32>>>(x, y, 128)
//@ buffer x:f32[64]=iota
//@ buffer y:f32[64]=uninit
//@ fault deadlock wrong_bytes:wait
//
//@ case right_bytes
//@ launch wrong_bytes<<<1, 32>>>(x, y, 256)
//@ buffer x:f32[64]=iota
//@ buffer y:f32[64]=uninit
//@ holds y == x
//
//@ case damaged_map
//@ launch foreign_map<<<1, 32>>>(maps, 8)
//@ buffer maps:u8[128]=iota
//@ fault illegal_instruction foreign_map:copy
//
//@ case past_the_buffer
//@ launch tile_no_wait<<<1, 64>>>(tensormap(x, dims=(16, 17), box=(16, 4)), y, 14)
//@ buffer x:f32[16,16]=iota
//@ buffer y:f32[64]=uninit
//@ outcome launch_refused takes 2 arguments
//
//@ case map_past_the_buffer
//@ launch last_rows<<<1, 32>>>(tensormap(x, dims=(16, 17), box=(16, 4)))
//@ buffer x:f32[16,16]=iota
//@ fault out_of_bounds last_rows:copy
//
//@ case refused_box
//@ launch last_rows<<<1, 32>>>(tensormap(x, dims=(16, 16), box=(3, 4)))
//@ buffer x:f32[16,16]=iota
//@ outcome launch_refused the box's inner dimension has 12 bytes
//
//@ case refused_swizzle
//@ launch last_rows<<<1, 32>>>(tensormap(x, dims=(16, 16), box=(16, 4), swizzle=32))
//@ buffer x:f32[16,16]=iota
//@ outcome launch_refused more than the 32 of the swizzle
//
//@ case refused_stride
//@ launch last_rows<<<1, 32>>>(tensormap(x, dims=(15, 16), box=(4, 4)))
//@ buffer x:f32[16,16]=iota
//@ outcome launch_refused a stride of 60 bytes
typedef unsigned u32;
typedef unsigned long long u64;

struct alignas(64) TensorMap {
    unsigned char bytes[128];
};

__device__ __forceinline__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void init(u64* barrier, u32 count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}
__device__ __forceinline__ void expect(u64* barrier, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void arrive(u64* barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
#define WAIT(barrier, parity) asm volatile("{\n .reg .pred p;\n again:\n mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n @p bra done;\n bra again;\n done:\n }" ::"r"(shared_address(barrier)), "r"(parity) : "memory")
#define COPY4(to, from) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(to)), "l"(from) : "memory")
#define COPY(to, from, bytes, barrier) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(barrier)) : "memory")
#define STORE(to, from, bytes) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)), "r"(bytes) : "memory")
#define LOAD(to, map, x, y, barrier) asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)), "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier)) : "memory")

extern "C" __global__ void no_wait(const float* x, float* y) {
    __shared__ float tile[64];
    COPY4(&tile[threadIdx.x], x + threadIdx.x);  // <- no_wait:copy
    asm volatile("cp.async.commit_group;" ::: "memory");
    __syncthreads();
    y[threadIdx.x] = tile[63 - threadIdx.x];  // <- no_wait:read
}

extern "C" __global__ void no_barrier(const float* x, float* y) {
    __shared__ float tile[64];
    COPY4(&tile[threadIdx.x], x + threadIdx.x);  // <- no_barrier:copy
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    y[threadIdx.x] = tile[63 - threadIdx.x];  // <- no_barrier:read
}

extern "C" __global__ void one_group_short(const float* x, float* y) {
    __shared__ float tile[2][64];
    COPY4(&tile[0][threadIdx.x], x + threadIdx.x);
    asm volatile("cp.async.commit_group;" ::: "memory");
    COPY4(&tile[1][threadIdx.x], x + 64 + threadIdx.x);  // <- one_group_short:copy
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    const float first = tile[0][63 - threadIdx.x];
    y[threadIdx.x] = first + tile[1][63 - threadIdx.x];  // <- one_group_short:read
}

extern "C" __global__ void bulk_no_wait(const float* x, float* y) {
    __shared__ alignas(16) float tile[64];
    __shared__ u64 full;
    if (threadIdx.x == 0) {
        init(&full, 1);
        expect(&full, 256);
        COPY(tile, x, 256, &full);  // <- bulk_no_wait:copy
    }
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x];  // <- bulk_no_wait:read
}

extern "C" __global__ void one_waits(const float* x, float* y) {
    __shared__ alignas(16) float tile[64];
    __shared__ u64 full;
    if (threadIdx.x == 0) init(&full, 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        expect(&full, 256);
        COPY(tile, x, 256, &full);  // <- one_waits:copy
    }
    if (threadIdx.x < 32) WAIT(&full, 0);
    y[threadIdx.x] = tile[threadIdx.x];  // <- one_waits:read
}

extern "C" __global__ void wrong_parity(const float* x, float* y) {
    __shared__ alignas(16) float tile[64];
    __shared__ u64 full;
    if (threadIdx.x == 0) {
        init(&full, 1);
        expect(&full, 256);
        COPY(tile, x, 256, &full);  // <- wrong_parity:copy
    }
    __syncthreads();
    WAIT(&full, 1);
    y[threadIdx.x] = tile[threadIdx.x];  // <- wrong_parity:read
}

// The loader does not wait until a stage has been read.
extern "C" __global__ void reused_stage(const float* x, float* y) {
    __shared__ alignas(16) float tile[2][32];
    __shared__ u64 full[2];
    if (threadIdx.x < 2) init(&full[threadIdx.x], 1);
    __syncthreads();
    for (u32 step = 0; step < 8; ++step) {
        const u32 stage = step % 2, turn = step / 2 % 2;
        if (threadIdx.x == 32) {
            if (step >= 2) WAIT(&full[stage], turn ^ 1);
            expect(&full[stage], 128);
            COPY(tile[stage], x + 32 * step, 128, &full[stage]);  // <- reused_stage:copy
        } else if (threadIdx.x < 32) {
            WAIT(&full[stage], turn);
            y[32 * step + threadIdx.x] = tile[stage][threadIdx.x];  // <- reused_stage:read
        }
    }
}

extern "C" __global__ void tile_no_wait(const __grid_constant__ TensorMap map, float* y) {
    __shared__ alignas(128) float tile[64];
    __shared__ u64 full;
    if (threadIdx.x == 0) {
        init(&full, 1);
        expect(&full, 256);
        LOAD(tile, &map, 0, 0, &full);  // <- tile_no_wait:copy
    }
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x];  // <- tile_no_wait:read
}

extern "C" __global__ void source_overwritten(float* y, int waits) {
    __shared__ alignas(16) float tile[64];
    tile[threadIdx.x] = threadIdx.x;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        STORE(y, tile, 256);  // <- source_overwritten:copy
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        if (waits) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
    __syncthreads();
    tile[threadIdx.x] = 5;  // <- source_overwritten:write
    if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

extern "C" __global__ void stored_not_waited(float* y, float* z, int waits) {
    __shared__ alignas(16) float tile[64];
    tile[threadIdx.x] = threadIdx.x;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        STORE(y, tile, 256);  // <- stored_not_waited:copy
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        if (waits) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
    __syncthreads();
    z[threadIdx.x] = *(volatile float*)&y[threadIdx.x];  // <- stored_not_waited:read
}

extern "C" __global__ void no_expect(const float* x, float* y) {
    __shared__ alignas(16) float tile[64];
    __shared__ u64 full;
    if (threadIdx.x == 0) {
        init(&full, 2);
        COPY(tile, x, 256, &full);
        arrive(&full);
    }
    __syncwarp();
    WAIT(&full, 0);  // <- no_expect:wait
    y[threadIdx.x] = tile[threadIdx.x];
}

extern "C" __global__ void wrong_bytes(const float* x, float* y, u32 bytes) {
    __shared__ alignas(16) float tile[64];
    __shared__ u64 full;
    if (threadIdx.x == 0) {
        init(&full, 1);
        expect(&full, bytes);
        COPY(tile, x, 256, &full);
    }
    __syncwarp();
    WAIT(&full, 0);  // <- wrong_bytes:wait
    y[threadIdx.x] = tile[threadIdx.x];
    y[32 + threadIdx.x] = tile[32 + threadIdx.x];
}

extern "C" __global__ void foreign_map(const TensorMap* maps, int row) {
    __shared__ alignas(128) float tile[64];
    __shared__ u64 full;
    if (threadIdx.x == 0) {
        init(&full, 1);
        expect(&full, 256);
        LOAD(tile, maps, 0, row, &full);  // <- foreign_map:copy
    }
    __syncwarp();
    WAIT(&full, 0);
}

extern "C" __global__ void last_rows(const __grid_constant__ TensorMap map) {
    __shared__ alignas(128) float tile[64];
    __shared__ u64 full;
    if (threadIdx.x == 0) {
        init(&full, 1);
        expect(&full, 256);
        LOAD(tile, &map, 0, 14, &full);  // <- last_rows:copy
    }
    __syncwarp();
    WAIT(&full, 0);
}
