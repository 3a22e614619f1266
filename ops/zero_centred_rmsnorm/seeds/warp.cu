//! idea    one warp a row, ROWS rows a block: the row lies in the registers of a warp, no barrier
//! tune    ROWS = 1, 2, 4, 8
//! require H % 8 == 0 && H <= 6144
//! launch  zero_centred_rmsnorm<<<ceil_div(T, ROWS), 32*ROWS>>>(x, w, y, eps, T)
#include <cuda_bf16.h>

constexpr int kVectors = H / 8;              // 16-byte vectors of a row
constexpr int kHeld = (kVectors + 31) / 32;  // of which a lane holds so many

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

__device__ float warp_sum(float v) {
#pragma unroll
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
    return v;
}

extern "C" __global__ void __launch_bounds__(32 * ROWS)
    zero_centred_rmsnorm(const uint4* __restrict__ x, const uint4* __restrict__ w, uint4* __restrict__ y, float eps,
                         int rows) {
    const int row = blockIdx.x * ROWS + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    x += static_cast<size_t>(row) * kVectors;
    y += static_cast<size_t>(row) * kVectors;
    uint4 held[kHeld], weight[kHeld];
#pragma unroll
    for (int j = 0; j < kHeld; ++j) {
        const int i = lane + j * 32;
        held[j] = i < kVectors ? x[i] : make_uint4(0, 0, 0, 0);
    }
    // The weight is under way before the sum is known.
#pragma unroll
    for (int j = 0; j < kHeld; ++j) {
        const int i = lane + j * 32;
        weight[j] = i < kVectors ? w[i] : make_uint4(0, 0, 0, 0);
    }

    float squares = 0;
#pragma unroll
    for (int j = 0; j < kHeld; ++j) {
        float v[8];
        unpack(held[j], v);
#pragma unroll
        for (int e = 0; e < 8; ++e) squares += v[e] * v[e];
    }
    const float r = rsqrtf(warp_sum(squares) / H + eps);

#pragma unroll
    for (int j = 0; j < kHeld; ++j) {
        const int i = lane + j * 32;
        float v[8], g[8];
        unpack(held[j], v);
        unpack(weight[j], g);
#pragma unroll
        for (int e = 0; e < 8; ++e) v[e] = v[e] * r * (1 + g[e]);
        if (i < kVectors) y[i] = pack(v);
    }
}
