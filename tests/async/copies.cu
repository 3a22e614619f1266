// Asynchronous copies without tensor maps that are right; see suite.py.
//
//@ case groups
//@ launch groups<<<2, 64>>>(x, y)
//@ buffer x:f32[2,512]=iota
//@ buffer y:f32[2,512]=uninit
//@ holds all(y[512 * b + 64 * s + i] == 3 * x[512 * b + 64 * s + 63 - i] for b in range(2) for s in range(8) for i in range(64))
//
//@ case zero_fill
//@ launch zero_fill<<<1, 32>>>(x, y, 21)
//@ buffer x:f32[32]=iota
//@ buffer y:f32[64]=uninit
//@ holds y == x[:21] + [0] * 11 + [x[i] if i % 3 else 0 for i in range(32)]
//
//@ case arrive_on_copies
//@ launch arrive_on_copies<<<1, 128>>>(x, y)
//@ buffer x:i32[256]=iota
//@ buffer y:i32[256]=uninit
//@ holds y == x[::-1]
//
//@ case library_pipeline
//@ launch library_pipeline<<<2, 128>>>(x, y, 4)
//@ buffer x:f32[2,512]=iota
//@ buffer y:f32[2,512]=uninit
//@ holds all(b == a * 2 for a, b in zip(x, y))
//
//@ case library_barrier
//@ launch library_barrier<<<2, 64>>>(x, y)
//@ buffer x:i32[2,256]=iota
//@ buffer y:i32[2,256]=zeros
//@ holds y == [v + 1 for v in x]
//
//@ case remote
//@ launch remote<<<4, 32, 0, cluster=(2, 1, 1)>>>(y)
//@ buffer y:u32[4,64]=uninit
//@ holds all(y[64 * b + i] == 1000 * (b ^ 1) + i for b in range(4) for i in range(32))
//@ holds all(y[64 * b + 32 + i] == 32 * 31 // 2 + 7 if i == 0 else y[64 * b + 32 + i] == 5 for b in range(4) for i in range(2))
//
//@ case cluster_copies
//@ launch cluster_copies<<<4, 32, 0, cluster=(2, 1, 1)>>>(x, y)
//@ buffer x:i32[128]=iota
//@ buffer y:i32[4,64]=uninit
//@ holds all(y[64 * b + i] == x[32 * (b ^ 1) + i] for b in range(4) for i in range(32))
//@ holds all(y[64 * b + 32 + i] == x[64 * (b // 2) + i] + x[64 * (b // 2) + 32 + i] for b in range(4) for i in range(32))
//
//@ case reductions
//@ launch reductions<<<4, 32>>>(f, h, b, lo, bits, w)
//@ buffer f:f32[32]=iota
//@ buffer h:f16[32]=iota
//@ buffer b:bf16[32]=iota
//@ buffer lo:i32[32]=iota
//@ buffer bits:u32[32]=zeros
//@ buffer w:u32[32]=const(2)
//@ holds f == [i + 4 * (i + 0.5) for i in range(32)] and lo == [min(i, 20 - i) for i in range(32)]
//@ holds h == [i + 4 * 0.5 for i in range(32)] and bits == [15 << i % 16 for i in range(32)] and w == [0] * 32
//
//@ case words
//@ launch words<<<4, 64>>>(u, seen)
//@ buffer u:u64[4]=zeros
//@ buffer seen:u64[4]=zeros
//@ hide seen
//@ holds u[0] == 256 and u[1] == 512 and seen[1] == seen[0] * 2
//
//@ case vectors
//@ launch vectors<<<2, 32>>>(f, h, b)
//@ buffer f:f32[8]=zeros
//@ buffer h:f16[8]=zeros
//@ buffer b:bf16[8]=zeros
//@ holds f == [64 * (i % 4 + 1) for i in range(4)] + [64 * (i + 1) for i in range(2)] + [0, 0] and h == [64] * 8 and b == [64 if i < 4 else 128 for i in range(8)]
//
//@ case arrivals
//@ launch arrivals<<<1, 32>>>(y)
//@ buffer y:u32[8]=uninit
//@ holds y == [1, 0, 3, 1, 1, 0, 1, 1]
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cooperative_groups.h>
typedef unsigned u32;
typedef unsigned short u16;
typedef unsigned long long u64;

__device__ __forceinline__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void prepare(u64* barrier, u32 count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}
__device__ __forceinline__ void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ __forceinline__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ __forceinline__ void expect(u64* barrier, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void wait(u64* barrier, u32 parity) {
    asm volatile("{\n .reg .pred p;\n again:\n mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1, 1000;\n @p bra done;\n bra again;\n done:\n }" ::"r"(shared_address(barrier)), "r"(parity) : "memory");
}
__device__ __forceinline__ void copy4(void* to, const void* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(to)), "l"(from) : "memory");
}
__device__ __forceinline__ void cluster_sync() { asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory"); }
__device__ __forceinline__ u32 map_to(const void* p, u32 rank) {
    u32 address;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared_address(p)), "r"(rank));
    return address;
}
__device__ __forceinline__ u32 cluster_rank() {
    u32 rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// Four stages, three groups ahead.
extern "C" __global__ void groups(const float* x, float* y) {
    __shared__ float tile[4][64];
    const u32 t = threadIdx.x;
    x += blockIdx.x * 512, y += blockIdx.x * 512;
    for (u32 s = 0; s < 3; ++s) {
        copy4(&tile[s][t], x + 64 * s + t);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    for (u32 s = 0; s < 8; ++s) {
        asm volatile("cp.async.wait_group 2;" ::: "memory");
        __syncthreads();
        if (s + 3 < 8) copy4(&tile[(s + 3) % 4][t], x + 64 * (s + 3) + t);
        asm volatile("cp.async.commit_group;" ::: "memory");
        y[64 * s + t] = 3 * tile[s % 4][63 - t];
    }
}

extern "C" __global__ void zero_fill(const float* x, float* y, int n) {
    __shared__ float tile[64];
    const int t = threadIdx.x;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(&tile[t])), "l"(x + t), "r"(t < n ? 4 : 0) : "memory");
    asm volatile("{ .reg .pred p; setp.eq.u32 p, %2, 0; cp.async.ca.shared.global [%0], [%1], 4, p; }" ::"r"(shared_address(&tile[32 + t])), "l"(x + t), "r"(t % 3) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    y[t] = tile[t];
    y[32 + t] = tile[32 + t];
}

// An mbarrier tells when everybody's copies are there, once with .noinc and once without.
extern "C" __global__ void arrive_on_copies(const int* x, int* y) {
    __shared__ int tile[256];
    __shared__ u64 all, more;
    const u32 t = threadIdx.x;
    if (t == 0) prepare(&all, 128), prepare(&more, 128);
    __syncthreads();
    copy4(&tile[t], x + t);
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(&all)) : "memory");
    copy4(&tile[128 + t], x + 128 + t);
    asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(shared_address(&more)) : "memory");
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&more)) : "memory");
    wait(&all, 0);
    y[255 - t] = tile[t];
    wait(&more, 0);
    y[127 - t] = tile[128 + t];
}

extern "C" __global__ void library_pipeline(const float* x, float* y, int steps) {
    namespace cg = cooperative_groups;
    auto block = cg::this_thread_block();
    constexpr int kStages = 2;
    __shared__ alignas(16) float tile[kStages][128];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
    auto pipeline = cuda::make_pipeline(block, &state);
    x += blockIdx.x * 512, y += blockIdx.x * 512;
    for (int ahead = 0, s = 0; s < steps; ++s) {
        for (; ahead < steps && ahead < s + kStages; ++ahead) {
            pipeline.producer_acquire();
            cuda::memcpy_async(block, tile[ahead % kStages], x + 128 * ahead, cuda::aligned_size_t<16>(512), pipeline);
            pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        y[128 * s + threadIdx.x] = 2 * tile[s % kStages][threadIdx.x];
        pipeline.consumer_release();
    }
}

extern "C" __global__ void library_barrier(const int* x, int* y) {
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    namespace cde = cuda::device::experimental;
    __shared__ alignas(128) int tile[256];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier full;
    if (threadIdx.x == 0) {
        init(&full, blockDim.x);
        cde::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    barrier::arrival_token token;
    if (threadIdx.x == 0) {
        cuda::memcpy_async(tile, x + 256 * blockIdx.x, cuda::aligned_size_t<16>(sizeof tile), full);
        token = full.arrive();
    } else {
        token = full.arrive();
    }
    full.wait(std::move(token));
    for (u32 i = threadIdx.x; i < 256; i += blockDim.x) tile[i] += 1;
    cde::fence_proxy_async_shared_cta();
    __syncthreads();
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_shared_to_global(y + 256 * blockIdx.x, tile, sizeof tile);
        cde::cp_async_bulk_commit_group();
        cde::cp_async_bulk_wait_group_read<0>();
    }
}

// Every lane sends a word to the other block and adds to a sum there.
extern "C" __global__ void remote(u32* y) {
    __shared__ u32 words[32], sums[2];
    __shared__ u64 full;
    const u32 t = threadIdx.x, other = cluster_rank() ^ 1;
    if (t == 0) {
        prepare(&full, 1);
        fence_init();
        sums[0] = 7, sums[1] = 0;
        expect(&full, 32 * 4 + 32 * 4 + 4);
    }
    cluster_sync();
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(map_to(&words[t], other)), "r"(1000 * blockIdx.x + t), "r"(map_to(&full, other)) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(map_to(&sums[0], other)), "r"(t), "r"(map_to(&full, other)) : "memory");
    if (t == 0)
        asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.u32 [%0], %1, [%2];" ::"r"(map_to(&sums[1], other)), "r"(5), "r"(map_to(&full, other)) : "memory");
    wait(&full, 0);
    y[64 * blockIdx.x + t] = words[t];
    y[64 * blockIdx.x + 32 + t] = t < 2 ? sums[t] : 0;
    cluster_sync();
}

// Shared memory of one block to that of the other, and a sum of both in the first one's.
extern "C" __global__ void cluster_copies(const int* x, int* y) {
    __shared__ alignas(16) int mine[32], theirs[32], sum[32];
    __shared__ u64 full;
    const u32 t = threadIdx.x, rank = cluster_rank();
    mine[t] = x[32 * blockIdx.x + t];
    sum[t] = 0;
    if (t == 0) {
        prepare(&full, 1);
        fence_init();
        expect(&full, 128 * (1 + 2));
    }
    fence_async();
    cluster_sync();
    if (t == 0) {
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];" ::"r"(map_to(theirs, rank ^ 1)), "r"(shared_address(mine)), "r"(map_to(&full, rank ^ 1)) : "memory");
        for (u32 to = 0; to < 2; ++to)
            asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.s32 [%0], [%1], 128, [%2];" ::"r"(map_to(sum, to)), "r"(shared_address(mine)), "r"(map_to(&full, to)) : "memory");
    }
    wait(&full, 0);
    y[64 * blockIdx.x + t] = theirs[t];
    y[64 * blockIdx.x + 32 + t] = sum[t];
    cluster_sync();
}

extern "C" __global__ void reductions(float* f, void* h, void* b, int* lo, u32* bits, u32* w) {
    __shared__ alignas(16) float floats[32];
    __shared__ alignas(16) u16 halves[32], brains[32];
    __shared__ alignas(16) int low[32];
    __shared__ alignas(16) u32 bit[32], most[32];
    const u32 t = threadIdx.x;
    floats[t] = t + 0.5f, halves[t] = 0x3800, brains[t] = 0x3f00, low[t] = 20 - (int)t;
    bit[t] = 1u << (blockIdx.x + t % 16), most[t] = 2 + blockIdx.x * 0;
    fence_async();
    __syncwarp();
    if (t == 0) {
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 128;" ::"l"(f), "r"(shared_address(floats)) : "memory");
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%0], [%1], 64;" ::"l"(h), "r"(shared_address(halves)) : "memory");
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [%0], [%1], 64;" ::"l"(b), "r"(shared_address(brains)) : "memory");
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.s32 [%0], [%1], 128;" ::"l"(lo), "r"(shared_address(low)) : "memory");
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.or.b32 [%0], [%1], 128;" ::"l"(bits), "r"(shared_address(bit)) : "memory");
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.inc.u32 [%0], [%1], 128;" ::"l"(w), "r"(shared_address(most)) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
}

// 128 bits that are changed as one: the second half is always twice the first.
extern "C" __global__ void words(u64* u, u64* seen) {
    u64 a = 0, b = 0;
    for (;;) {
        u64 was_a, was_b;
        asm volatile("{ .reg .b128 old, want, fresh; mov.b128 want, {%2, %3}; mov.b128 fresh, {%4, %5}; atom.global.relaxed.gpu.cas.b128 old, [%6], want, fresh; mov.b128 {%0, %1}, old; }" : "=l"(was_a), "=l"(was_b) : "l"(a), "l"(b), "l"(a + 1), "l"(b + 2), "l"(u) : "memory");
        if (was_a == a && was_b == b) break;
        a = was_a, b = was_b;
    }
    asm volatile("{ .reg .b128 old, fresh; mov.b128 fresh, {%0, %1}; atom.global.relaxed.gpu.exch.b128 old, [%2], fresh; }" ::"l"(a), "l"(b), "l"(seen) : "memory");
}

extern "C" __global__ void vectors(float* f, void* h, void* b) {
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(f), "f"(1.f), "f"(2.f), "f"(3.f), "f"(4.f) : "memory");
    asm volatile("{ .reg .f32 x, y; atom.global.add.v2.f32 {x, y}, [%0], {%1, %2}; }" ::"l"(f + 4), "f"(1.f), "f"(2.f) : "memory");
    const u32 one = 0x3c003c00, brain = 0x3f803f80;
    asm volatile("red.global.add.noftz.v4.f16x2 [%0], {%1, %1, %1, %1};" ::"l"(h), "r"(one) : "memory");
    asm volatile("red.global.add.noftz.v2.bf16x2 [%0], {%1, %1};" ::"l"(b), "r"(brain) : "memory");
    asm volatile("red.global.add.noftz.v4.bf16 [%0], {%1, %1, %1, %1};" ::"l"((u16*)b + 4), "h"((u16)0x4000) : "memory");
}

// The states of one mbarrier of three arrivals, by one thread.
extern "C" __global__ void arrivals(u32* y) {
    __shared__ u64 barrier;
    if (threadIdx.x != 0) return;
    const u32 at = shared_address(&barrier);
    prepare(&barrier, 3);
    u64 token;
    u32 done, pending;
    const auto test = [&](u64 state) {
        asm volatile("{ .reg .pred p; mbarrier.test_wait.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at), "l"(state) : "memory");
        return done;
    };
    const auto parity = [&](u32 phase) {
        asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at), "r"(phase) : "memory");
        return done;
    };
    y[0] = parity(1);
    y[1] = parity(0);
    asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], 2;" : "=l"(token) : "r"(at) : "memory");
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(token));
    y[2] = pending;
    asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1];" : "=l"(token) : "r"(at) : "memory");
    y[3] = test(token);
    y[4] = parity(0);
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 %0, [%1], 1;" : "=l"(token) : "r"(at) : "memory");
    y[5] = test(token);
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 64;" ::"r"(at) : "memory");
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(token) : "r"(at) : "memory");
    y[6] = !test(token);
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 64;" ::"r"(at) : "memory");
    y[7] = test(token);
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(at) : "memory");
}
