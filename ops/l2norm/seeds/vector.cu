//! idea    LANES lanes of a warp share a row in 16-byte vectors; several rows a warp, no barrier
//! tune    LANES = 16, 8, 32, 4
//! tune    BLOCK = 128, 64, 256
//! require H % 8 == 0 && H <= 256*LANES
//! launch  l2norm<<<ceil_div(K*T*LANES, BLOCK), BLOCK>>>(x, y, eps, K*T)
#include <cuda_bf16.h>

constexpr int kVectors = H / 8;                        // 16-byte vectors of a row
constexpr int kHeld = (kVectors + LANES - 1) / LANES;  // of which a lane holds so many

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

extern "C" __global__ void __launch_bounds__(BLOCK)
    l2norm(const uint4* __restrict__ x, uint4* __restrict__ y, float eps, int rows) {
    const int row = (blockIdx.x * BLOCK + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
    const size_t first = static_cast<size_t>(row) * kVectors;
    uint4 held[kHeld];
    float squares = 0;
#pragma unroll
    for (int j = 0; j < kHeld; ++j) {
        const int i = lane + j * LANES;
        held[j] = row < rows && i < kVectors ? x[first + i] : make_uint4(0, 0, 0, 0);
    }
#pragma unroll
    for (int j = 0; j < kHeld; ++j) {
        float v[8];
        unpack(held[j], v);
#pragma unroll
        for (int e = 0; e < 8; ++e) squares += v[e] * v[e];
    }
    // Rows of one warp differ in nothing but data, so all its lanes take part, those behind the last row too.
#pragma unroll
    for (int d = LANES / 2; d > 0; d /= 2) squares += __shfl_xor_sync(0xffffffff, squares, d);
    const float r = rsqrtf(squares + eps);
#pragma unroll
    for (int j = 0; j < kHeld; ++j) {
        const int i = lane + j * LANES;
        float v[8];
        unpack(held[j], v);
#pragma unroll
        for (int e = 0; e < 8; ++e) v[e] *= r;
        if (row < rows && i < kVectors) y[first + i] = pack(v);
    }
}
