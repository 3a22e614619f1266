//! idea    a thread turns eight pairs of HEADS heads: 16-byte accesses, one read of the tables for all its heads
//! tune    HEADS = 1, 2
//! tune    BLOCK = 64, 32, 128, 256
//! require R % 16 == 0 && D % 8 == 0 && (HQ + HK) % HEADS == 0
//! launch  rope<<<ceil_div(T*((HQ + HK)/HEADS)*(R/16), BLOCK), BLOCK>>>(q, k, cos, sin, T)
#include <cuda_bf16.h>

constexpr int kEighths = R / 16;                     // 16-byte vectors of half a rotated head
constexpr int kWork = (HQ + HK) / HEADS * kEighths;  // threads of a token

__device__ float round_bf16(float v) { return __bfloat162float(__float2bfloat16(v)); }

// a*c + b*s for one rotated value; with rounding = three, tables and both products are bf16 too.
__device__ float turn(float a, float c, float b, float s) {
    if (!ROUNDING_THREE) return a * c + b * s;
    return round_bf16(a * round_bf16(c)) + round_bf16(b * round_bf16(s));
}

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
    rope(uint4* q, uint4* k, const float4* __restrict__ cos, const float4* __restrict__ sin, int tokens) {
    const int n = blockIdx.x * BLOCK + threadIdx.x;
    const int token = n / kWork, group = n % kWork / kEighths, eighth = n % kEighths;
    if (token >= tokens) return;

    uint4* x[HEADS];
    uint4 first[HEADS], second[HEADS];
#pragma unroll
    for (int j = 0; j < HEADS; ++j) {
        const int head = group * HEADS + j;
        x[j] = (head < HQ ? q + static_cast<size_t>(token * HQ + head) * (D / 8)
                          : k + static_cast<size_t>(token * HK + head - HQ) * (D / 8)) +
               eighth;
        first[j] = x[j][0];
        second[j] = x[j][kEighths];
    }
    const int table = (token * kEighths + eighth) * 2;
    const float4 c0 = cos[table], c1 = cos[table + 1], s0 = sin[table], s1 = sin[table + 1];
    const float c[8] = {c0.x, c0.y, c0.z, c0.w, c1.x, c1.y, c1.z, c1.w};
    const float s[8] = {s0.x, s0.y, s0.z, s0.w, s1.x, s1.y, s1.z, s1.w};

#pragma unroll
    for (int j = 0; j < HEADS; ++j) {
        float a[8], b[8], turned_a[8], turned_b[8];
        unpack(first[j], a);
        unpack(second[j], b);
#pragma unroll
        for (int e = 0; e < 8; ++e) {
            turned_a[e] = turn(a[e], c[e], b[e], -s[e]);
            turned_b[e] = turn(b[e], c[e], a[e], s[e]);
        }
        x[j][0] = pack(turned_a);
        x[j][kEighths] = pack(turned_b);
    }
}
