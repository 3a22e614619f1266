//! idea    tensor cores with the weights as the tall operand: 16 ROWS outputs by 8 TILES tokens a block, K dealt out to its warps
//! tune    TILES = 1, 2, 4, 8
//! tune    WARPS = 4, 8, 2
//! tune    ROWS = 1, 2
//! tune    UNROLL = 4, 2
//! require K % 32 == 0 && WARPS*ROWS*TILES <= 96
//! launch  linear<<<(ceil_div(N, 16*ROWS), ceil_div(T, 8*TILES)), 32*WARPS>>>(x, w, y, T)
#include <cuda_bf16.h>

constexpr int kVectors = K / 8;  // 16-byte vectors of a row
constexpr int kChunks = K / 32;  // what a quad of lanes reads of a row at once: two steps of 16
constexpr int kOutputs = 16 * ROWS, kTokens = 8 * TILES;

// d += a b, 16 x 16 by 16 x 8. Lane l holds rows l/4 and l/4 + 8 of a and column l/4 of b, four of 16 elements each.
// Which four is for the caller to choose, the same in a and b: the order of a sum is free.
__device__ void mma(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

extern "C" __global__ void __launch_bounds__(32 * WARPS)
    linear(const uint4* __restrict__ x, const uint4* __restrict__ w, __nv_bfloat16* __restrict__ y, int tokens) {
    __shared__ float part[WARPS][kTokens][kOutputs];
    const int warp = threadIdx.x / 32, row = threadIdx.x % 32 / 4, quarter = threadIdx.x % 4;
    const int first_output = blockIdx.x * kOutputs, first_token = blockIdx.y * kTokens;
    const uint4 zero = make_uint4(0, 0, 0, 0);
    float sum[ROWS][TILES][4] = {};
    for (int at = warp; at < kChunks; at += WARPS * UNROLL) {
        uint4 a[UNROLL][ROWS][2], b[UNROLL][TILES];
#pragma unroll
        for (int j = 0; j < UNROLL; ++j) {
            const int chunk = at + j * WARPS, vector = chunk * 4 + quarter;
#pragma unroll
            for (int r = 0; r < 2 * ROWS; ++r) {
                const int n = min(first_output + 8 * r + row, N - 1);
                a[j][r / 2][r % 2] = chunk < kChunks ? w[static_cast<size_t>(n) * kVectors + vector] : zero;
            }
#pragma unroll
            for (int t = 0; t < TILES; ++t) {
                const int token = first_token + 8 * t + row;
                b[j][t] = chunk < kChunks && token < tokens ? x[static_cast<size_t>(token) * kVectors + vector] : zero;
            }
        }
#pragma unroll
        for (int j = 0; j < UNROLL; ++j)
#pragma unroll
            for (int r = 0; r < ROWS; ++r)
#pragma unroll
                for (int t = 0; t < TILES; ++t) {
                    mma(sum[r][t], a[j][r][0].x, a[j][r][1].x, a[j][r][0].y, a[j][r][1].y, b[j][t].x, b[j][t].y);
                    mma(sum[r][t], a[j][r][0].z, a[j][r][1].z, a[j][r][0].w, a[j][r][1].w, b[j][t].z, b[j][t].w);
                }
    }
    // Lane l has outputs l/4 and l/4 + 8 for tokens 2 (l%4) and the next.
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int t = 0; t < TILES; ++t)
#pragma unroll
            for (int e = 0; e < 4; ++e) part[warp][8 * t + 2 * quarter + e % 2][16 * r + row + e / 2 * 8] = sum[r][t][e];
    __syncthreads();
    for (int i = threadIdx.x; i < kOutputs * kTokens; i += 32 * WARPS) {
        const int output = i % kOutputs, token = i / kOutputs;
        if (first_output + output >= N || first_token + token >= tokens) continue;
        float total = 0;
#pragma unroll
        for (int from = 0; from < WARPS; ++from) total += part[from][token][output];
        y[static_cast<size_t>(first_token + token) * N + first_output + output] = __float2bfloat16(total);
    }
}
