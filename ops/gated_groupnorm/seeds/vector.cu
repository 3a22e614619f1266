//! idea    one block a group of a row, as wide as the group needs; gated values stay in registers
//! tune    VECS = 1, 2, 4
//! require D % (8*G) == 0 && S % 8 == 0 && ceil_div(D/G, 256*VECS) <= 32
//! launch  gated_groupnorm<<<(T, G), 32*ceil_div(D/G, 256*VECS)>>>(y, z, w, out, eps)
#include <cuda_bf16.h>

constexpr int kVectors = D / G / 8;  // 16-byte vectors of a group
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
    gated_groupnorm(const uint4* __restrict__ y, const uint4* __restrict__ z, const uint4* __restrict__ w,
                    uint4* __restrict__ out, float eps) {
    const size_t row = blockIdx.x, group = blockIdx.y * kVectors;
    y += row * (D / 8) + group;
    z += row * (S / 8) + group;
    w += group;
    out += row * (D / 8) + group;
    uint4 value[VECS], gate[VECS], weight[VECS];
#pragma unroll
    for (int j = 0; j < VECS; ++j) {
        const int i = threadIdx.x + j * kThreads;
        value[j] = i < kVectors ? y[i] : make_uint4(0, 0, 0, 0);
        gate[j] = i < kVectors ? z[i] : make_uint4(0, 0, 0, 0);
        weight[j] = i < kVectors ? w[i] : make_uint4(0, 0, 0, 0);
    }

    float u[VECS][8], squares = 0;
#pragma unroll
    for (int j = 0; j < VECS; ++j) {
        float g[8];
        unpack(value[j], u[j]);
        unpack(gate[j], g);
#pragma unroll
        for (int e = 0; e < 8; ++e) {
            u[j][e] *= __fdividef(g[e], 1 + __expf(-g[e]));
            squares += u[j][e] * u[j][e];
        }
    }
    const float r = rsqrtf(block_sum(squares) / (D / G) + eps);

#pragma unroll
    for (int j = 0; j < VECS; ++j) {
        const int i = threadIdx.x + j * kThreads;
        float g[8];
        unpack(weight[j], g);
#pragma unroll
        for (int e = 0; e < 8; ++e) u[j][e] = (ROUNDING_TWO ? round_bf16(u[j][e] * r) : u[j][e] * r) * g[e];
        if (i < kVectors) out[i] = pack(u[j]);
    }
}
