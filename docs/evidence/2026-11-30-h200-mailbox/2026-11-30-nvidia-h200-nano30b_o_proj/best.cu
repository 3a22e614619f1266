//! task    nano30b_o_proj
//! idea    few tokens: one pass over the weights by tensor cores; many: tiles of 64*TALL outputs by 128 tokens through a cp.async pipeline, K split over a cluster whose blocks join their sums in shared memory
//! tune    SPLIT = 8
//! tune    STAGES = 2
//! tune    TALL = 2
//! tune    UNROLL = 4
//! require K % 64 == 0 && N % 4 == 0 && K / 64 >= SPLIT
//! launch  linear<<<((T <= 8) * SPLIT * ceil_div(N, 16 * SPLIT) + (T > 8) * SPLIT * ceil_div(N, 64 * TALL), ceil_div(T, 128)), 256, (T > 8) * max(STAGES * 8192 * (TALL + 2), 128 * (64 * TALL + 4) * 4), cluster=(SPLIT, 1, 1)>>>(x, w, y, T)
#include <cooperative_groups.h>
#include <cuda_bf16.h>

namespace cg = cooperative_groups;

constexpr int kVectors = K / 8;            // 16-byte vectors of a row
constexpr int kOutputs = 64 * TALL, kTokens = 128, kDepth = 64;
constexpr int kTallBytes = kOutputs * kDepth * 2, kWideBytes = kTokens * kDepth * 2, kStageBytes = kTallBytes + kWideBytes;
constexpr int kPitch = kOutputs + 4;       // floats of a token's row of sums: keeps the banks apart

__device__ void mma(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

__device__ void load4(unsigned (&r)[4], unsigned from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(from) : "memory");
}

__device__ void copy16(unsigned to, const uint4* from, bool there) {
    const int bytes = there ? 16 : 0;  // what is not there becomes zeros
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

// Up to eight tokens: 16 outputs a block, K dealt out to its warps, both operands straight from global memory.
__device__ void few(const uint4* __restrict__ x, const uint4* __restrict__ w, __nv_bfloat16* __restrict__ y, int tokens) {
    __shared__ float part[8][8][16];
    const int warp = threadIdx.x / 32, row = threadIdx.x % 32 / 4, quarter = threadIdx.x % 4, first = blockIdx.x * 16;
    if (first >= N) return;
    constexpr int kChunks = K / 32;
    const uint4 zero = make_uint4(0, 0, 0, 0);
    const uint4* low = w + static_cast<size_t>(min(first + row, N - 1)) * kVectors + quarter;
    const uint4* high = w + static_cast<size_t>(min(first + row + 8, N - 1)) * kVectors + quarter;
    const uint4* token = x + static_cast<size_t>(min(row, tokens - 1)) * kVectors + quarter;
    float sum[4] = {};
    for (int at = warp; at < kChunks; at += 8 * UNROLL) {
        uint4 a[UNROLL][2], b[UNROLL];
#pragma unroll
        for (int j = 0; j < UNROLL; ++j) {
            const int chunk = at + 8 * j;
            const bool there = chunk < kChunks;
            a[j][0] = there ? __ldcs(&low[chunk * 4]) : zero;
            a[j][1] = there ? __ldcs(&high[chunk * 4]) : zero;
            b[j] = there && row < tokens ? token[chunk * 4] : zero;
        }
#pragma unroll
        for (int j = 0; j < UNROLL; ++j) {
            mma(sum, a[j][0].x, a[j][1].x, a[j][0].y, a[j][1].y, b[j].x, b[j].y);
            mma(sum, a[j][0].z, a[j][1].z, a[j][0].w, a[j][1].w, b[j].z, b[j].w);
        }
    }
#pragma unroll
    for (int e = 0; e < 4; ++e) part[warp][2 * quarter + e % 2][row + e / 2 * 8] = sum[e];
    __syncthreads();
    const int output = threadIdx.x % 16, t = threadIdx.x / 16;
    if (t >= tokens || first + output >= N) return;
    float total = 0;
#pragma unroll
    for (int from = 0; from < 8; ++from) total += part[from][t][output];
    y[static_cast<size_t>(t) * N + first + output] = __float2bfloat16(total);
}

extern "C" __global__ void __launch_bounds__(256, 2)
    linear(const uint4* __restrict__ x, const uint4* __restrict__ w, __nv_bfloat16* __restrict__ y, int tokens) {
    if (tokens <= 8) return few(x, w, y, tokens);
    extern __shared__ __align__(1024) unsigned char pool[];
    const cg::cluster_group cluster = cg::this_cluster();
    const int rank = static_cast<int>(cluster.block_rank()), first = blockIdx.x / SPLIT * kOutputs, first_token = blockIdx.y * kTokens;
    const int from = K / kDepth * rank / SPLIT, to = K / kDepth * (rank + 1) / SPLIT;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const unsigned base = static_cast<unsigned>(__cvta_generic_to_shared(pool));

    const auto fetch = [&](int chunk, int stage) {
        const unsigned tall = base + stage * kStageBytes, wide = tall + kTallBytes;
        const int vector = threadIdx.x % 8, start = threadIdx.x / 8;
#pragma unroll
        for (int r = start; r < kOutputs; r += 32)
            copy16(tall + r * 128 + (vector ^ r % 8) * 16, w + static_cast<size_t>(min(first + r, N - 1)) * kVectors + chunk * 8 + vector,
                   first + r < N);
#pragma unroll
        for (int r = start; r < kTokens; r += 32)
            copy16(wide + r * 128 + (vector ^ r % 8) * 16,
                   x + static_cast<size_t>(min(first_token + r, tokens - 1)) * kVectors + chunk * 8 + vector, first_token + r < tokens);
    };

    float sum[TALL][8][4] = {};
    const int output_at = warp % 4 * 16 * TALL, token_at = warp / 4 * 64;
#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) {
        if (from + s < to) fetch(from + s, s);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    for (int chunk = from, stage = 0; chunk < to; ++chunk) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();
        const int ahead = chunk + STAGES - 1;
        if (ahead < to) fetch(ahead, (stage + STAGES - 1) % STAGES);
        asm volatile("cp.async.commit_group;" ::: "memory");
        const unsigned tall = base + stage * kStageBytes, wide = tall + kTallBytes;
#pragma unroll
        for (int k = 0; k < kDepth / 16; ++k) {
            unsigned a[TALL][4], b[4][4];
#pragma unroll
            for (int m = 0; m < TALL; ++m) {
                const int r = output_at + 16 * m + lane % 16, v = 2 * k + lane / 16;
                load4(a[m], tall + r * 128 + (v ^ r % 8) * 16);
            }
#pragma unroll
            for (int n = 0; n < 4; ++n) {
                const int r = token_at + 16 * n + lane / 16 * 8 + lane % 8, v = 2 * k + lane / 8 % 2;
                load4(b[n], wide + r * 128 + (v ^ r % 8) * 16);
            }
#pragma unroll
            for (int m = 0; m < TALL; ++m)
#pragma unroll
                for (int n = 0; n < 8; ++n)
                    mma(sum[m][n], a[m][0], a[m][1], a[m][2], a[m][3], b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
        }
        stage = (stage + 1) % STAGES;
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();

    float* sums = reinterpret_cast<float*>(pool);
#pragma unroll
    for (int m = 0; m < TALL; ++m)
#pragma unroll
        for (int n = 0; n < 8; ++n)
#pragma unroll
            for (int e = 0; e < 4; ++e)
                sums[(token_at + 8 * n + lane % 4 * 2 + e % 2) * kPitch + output_at + 16 * m + lane / 4 + e / 2 * 8] = sum[m][n][e];
    cluster.sync();
    const int here = min(kTokens, tokens - first_token);
    for (int i = threadIdx.x; i < kOutputs / 4 * kTokens / SPLIT; i += 256) {
        const int token = i / (kOutputs / 4) * SPLIT + rank, output = i % (kOutputs / 4) * 4;
        if (token >= here || first + output >= N) continue;
        float4 total = make_float4(0, 0, 0, 0);
#pragma unroll
        for (int peer = 0; peer < SPLIT; ++peer) {
            const float4 one = *reinterpret_cast<const float4*>(cluster.map_shared_rank(sums, peer) + token * kPitch + output);
            total.x += one.x, total.y += one.y, total.z += one.z, total.w += one.w;
        }
        __nv_bfloat162 pair[2] = {__floats2bfloat162_rn(total.x, total.y), __floats2bfloat162_rn(total.z, total.w)};
        *reinterpret_cast<uint2*>(y + static_cast<size_t>(first_token + token) * N + first + output) = *reinterpret_cast<uint2*>(pair);
    }
    cluster.sync();
}
