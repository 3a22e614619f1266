//! idea   one block a token, one thread a pair of values
//! launch rope<<<T, 256>>>(q, k, cos, sin)
#include <cuda_bf16.h>

__device__ float round_bf16(float v) { return __bfloat162float(__float2bfloat16(v)); }

// a*c + b*s for one rotated value; with rounding = three, tables and both products are bf16 too.
__device__ float turn(float a, float c, float b, float s) {
    if (!ROUNDING_THREE) return a * c + b * s;
    return round_bf16(a * round_bf16(c)) + round_bf16(b * round_bf16(s));
}

extern "C" __global__ void rope(__nv_bfloat16* q, __nv_bfloat16* k, const float* cos, const float* sin) {
    constexpr int kHalf = R / 2;
    const size_t token = blockIdx.x;
    for (int n = threadIdx.x; n < (HQ + HK) * kHalf; n += 256) {
        const int head = n / kHalf, i = n % kHalf;
        __nv_bfloat16* x = head < HQ ? q + (token * HQ + head) * D : k + (token * HK + head - HQ) * D;
        const float a = __bfloat162float(x[i]), b = __bfloat162float(x[i + kHalf]);
        const float c = cos[token * kHalf + i], s = sin[token * kHalf + i];
        x[i] = __float2bfloat16(turn(a, c, b, -s));
        x[i + kHalf] = __float2bfloat16(turn(b, c, a, s));
    }
}
