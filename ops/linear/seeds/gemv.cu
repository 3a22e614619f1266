//! idea    LANES lanes an output read its weights in 16-byte vectors, UNROLL under way at once, for TOKENS tokens together
//! tune    TOKENS = 1, 2, 4, 8
//! tune    LANES = 32, 16, 64, 128
//! tune    UNROLL = 4, 2, 8
//! tune    BLOCK = 128, 256
//! require K % 8 == 0 && LANES <= BLOCK
//! launch  linear<<<(ceil_div(N, BLOCK/LANES), ceil_div(T, TOKENS)), BLOCK>>>(x, w, y, T)
#include <cuda_bf16.h>

constexpr int kVectors = K / 8;           // 16-byte vectors of a row
constexpr int kOutputs = BLOCK / LANES;   // of a block
constexpr int kWarps = (LANES + 31) / 32;  // that share an output

// Adds the products of eight bf16 pairs. The upper half of a word is a float already.
__device__ void add_products(float& sum, uint4 a, uint4 b) {
    const unsigned left[4] = {a.x, a.y, a.z, a.w}, right[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
    for (int p = 0; p < 4; ++p) {
        sum += __uint_as_float(left[p] << 16) * __uint_as_float(right[p] << 16);
        sum += __uint_as_float(left[p] & 0xffff0000u) * __uint_as_float(right[p] & 0xffff0000u);
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    linear(const uint4* __restrict__ x, const uint4* __restrict__ w, __nv_bfloat16* __restrict__ y, int tokens) {
    const int lane = threadIdx.x % LANES, n = blockIdx.x * kOutputs + threadIdx.x / LANES;
    const int first = blockIdx.y * TOKENS, here = min(TOKENS, tokens - first);
    const uint4* weights = w + static_cast<size_t>(min(n, N - 1)) * kVectors;
    x += static_cast<size_t>(first) * kVectors;
    float sum[TOKENS] = {};
    for (int at = lane; at < kVectors; at += LANES * UNROLL) {
        uint4 held[UNROLL];
#pragma unroll
        for (int j = 0; j < UNROLL; ++j) {
            const int i = at + j * LANES;
            held[j] = i < kVectors ? __ldcs(&weights[i]) : make_uint4(0, 0, 0, 0);
        }
#pragma unroll
        for (int j = 0; j < UNROLL; ++j) {
            const int i = at + j * LANES;
            if (i >= kVectors) break;
#pragma unroll
            for (int t = 0; t < TOKENS; ++t)
                if (t < here) add_products(sum[t], x[static_cast<size_t>(t) * kVectors + i], held[j]);
        }
    }
#pragma unroll
    for (int t = 0; t < TOKENS; ++t) {
#pragma unroll
        for (int d = (LANES < 32 ? LANES : 32) / 2; d > 0; d /= 2) sum[t] += __shfl_xor_sync(0xffffffff, sum[t], d);
    }
    if (kWarps > 1) {
        __shared__ float part[BLOCK / 32][TOKENS];
        if (threadIdx.x % 32 == 0) {
            for (int t = 0; t < TOKENS; ++t) part[threadIdx.x / 32][t] = sum[t];
        }
        __syncthreads();
        if (lane == 0) {
            for (int warp = 1; warp < kWarps; ++warp)
                for (int t = 0; t < TOKENS; ++t) sum[t] += part[threadIdx.x / 32 + warp][t];
        }
    }
    if (lane != 0 || n >= N) return;
#pragma unroll
    for (int t = 0; t < TOKENS; ++t)
        if (t < here) y[static_cast<size_t>(first + t) * N + n] = __float2bfloat16(sum[t]);
}
