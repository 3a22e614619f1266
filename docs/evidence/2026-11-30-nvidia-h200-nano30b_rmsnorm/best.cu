//! task    nano30b_rmsnorm
//! idea    one block a row, as wide as the row needs; 16-byte accesses, the row stays in registers between passes
//! tune    VECS = 2
//! require H % 8 == 0 && ceil_div(H, 256*VECS) <= 32
//! launch  rmsnorm<<<T, 32*ceil_div(H, 256*VECS)>>>(x, w, y, eps)
#include <cuda_bf16.h>

constexpr int kVectors = H / 8;  // 16-byte vectors of a row
constexpr int kThreads = 32 * ((kVectors + 32 * VECS - 1) / (32 * VECS));

__device__ float round_bf16(float v) { return __bfloat162float(__float2bfloat16(v)); }

// Eight bf16 values of a 16-byte vector as floats, and back.
__device__ void unpack(uint4 v, float (&f)[8]) {
    const unsigned word[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int p = 0; p < 4; ++p) {
        f[2 * p] = __uint_as_float(word[p] << 16);
        f[2 * p + 1] = __uint_as_float(word[p] & 0xffff0000u);
    }
}

__device__ unsigned pack(float low, float high) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const unsigned*>(&pair);
}

__device__ uint4 pack(const float (&f)[8]) {
    return make_uint4(pack(f[0], f[1]), pack(f[2], f[3]), pack(f[4], f[5]), pack(f[6], f[7]));
}

// The sum over the block, in every thread. Used once, so no barrier guards `part` against a second use.
__device__ float block_sum(float v) {
    alignas(16) __shared__ float part[kThreads / 32];
#pragma unroll
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
    if (kThreads == 32) return v;
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kThreads / 32; ++i) sum += part[i];
    return sum;
}

extern "C" __global__ void __launch_bounds__(kThreads)
    rmsnorm(const uint4* __restrict__ x, const uint4* __restrict__ w, uint4* __restrict__ y, float eps) {
    const size_t row = static_cast<size_t>(blockIdx.x) * kVectors;
    x += row;
    y += row;
    uint4 held[VECS], weight[VECS];
#pragma unroll
    for (int j = 0; j < VECS; ++j) {
        const int i = threadIdx.x + j * kThreads;
        held[j] = i < kVectors ? x[i] : make_uint4(0, 0, 0, 0);
    }
    // The weight is under way before the sum is known.
#pragma unroll
    for (int j = 0; j < VECS; ++j) {
        const int i = threadIdx.x + j * kThreads;
        weight[j] = i < kVectors ? w[i] : make_uint4(0, 0, 0, 0);
    }

    float squares = 0;
#pragma unroll
    for (int j = 0; j < VECS; ++j) {
        float v[8];
        unpack(held[j], v);
#pragma unroll
        for (int e = 0; e < 8; ++e) squares += v[e] * v[e];
    }
    const float r = rsqrtf(block_sum(squares) / H + eps);

#pragma unroll
    for (int j = 0; j < VECS; ++j) {
        const int i = threadIdx.x + j * kThreads;
        float v[8], g[8];
        unpack(held[j], v);
        unpack(weight[j], g);
#pragma unroll
        for (int e = 0; e < 8; ++e) v[e] = (ROUNDING_TWO ? round_bf16(v[e] * r) : v[e] * r) * g[e];
        if (i < kVectors) y[i] = pack(v);
    }
}
