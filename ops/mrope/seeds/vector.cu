//! idea    one block a token: cos and sin are gathered into shared memory while q and k are under way
//! tune    BLOCK = 96, 64, 128, 32, 192
//! require R % 16 == 0 && D % 8 == 0 && ceil_div((HQ + HK)*(R/16), BLOCK) <= 16
//! launch  mrope<<<T, BLOCK>>>(q, k, cos, sin, T)
#include <cuda_bf16.h>

constexpr int kHalf = R / 2;
constexpr int kEighths = R / 16;                    // 16-byte vectors of half a rotated head
constexpr int kWork = (HQ + HK) * kEighths;         // of both q and k
constexpr int kHeld = (kWork + BLOCK - 1) / BLOCK;  // of which a thread holds so many

// The position row that frequency i follows: 0 time, 1 height, 2 width.
__device__ int position_row(int i) {
    if (i % 3 == 1 && i < 3 * SH) return 1;
    if (i % 3 == 2 && i < 3 * SW) return 2;
    return 0;
}

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
    mrope(uint4* q, uint4* k, const float* __restrict__ cos, const float* __restrict__ sin, int tokens) {
    alignas(16) __shared__ float c[kHalf], s[kHalf];
    const size_t token = blockIdx.x;
    uint4* x[kHeld];
    uint4 first[kHeld], second[kHeld];
#pragma unroll
    for (int j = 0; j < kHeld; ++j) {
        const int n = threadIdx.x + j * BLOCK, head = n / kEighths;
        x[j] = (head < HQ ? q + (token * HQ + head) * (D / 8) : k + (token * HK + head - HQ) * (D / 8)) + n % kEighths;
        if (n < kWork) {
            first[j] = x[j][0];
            second[j] = x[j][kEighths];
        }
    }
    for (int i = threadIdx.x; i < kHalf; i += BLOCK) {
        const size_t at = (static_cast<size_t>(position_row(i)) * tokens + token) * kHalf + i;
        c[i] = cos[at];
        s[i] = sin[at];
    }
    __syncthreads();

#pragma unroll
    for (int j = 0; j < kHeld; ++j) {
        const int n = threadIdx.x + j * BLOCK, i = n % kEighths * 8;
        if (n >= kWork) break;
        float a[8], b[8], turned_a[8], turned_b[8];
        unpack(first[j], a);
        unpack(second[j], b);
#pragma unroll
        for (int e = 0; e < 8; ++e) {
            turned_a[e] = turn(a[e], c[i + e], b[e], -s[i + e]);
            turned_b[e] = turn(b[e], c[i + e], a[e], s[i + e]);
        }
        x[j][0] = pack(turned_a);
        x[j][kEighths] = pack(turned_b);
    }
}
