//! idea   one block a token, one thread a pair of values, each looks up its own row of the tables
//! launch mrope<<<T, 256>>>(q, k, cos, sin, T)
#include <cuda_bf16.h>

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

extern "C" __global__ void mrope(__nv_bfloat16* q, __nv_bfloat16* k, const float* cos, const float* sin, int tokens) {
    constexpr int kHalf = R / 2;
    const size_t token = blockIdx.x;
    for (int n = threadIdx.x; n < (HQ + HK) * kHalf; n += 256) {
        const int head = n / kHalf, i = n % kHalf;
        __nv_bfloat16* x = head < HQ ? q + (token * HQ + head) * D : k + (token * HK + head - HQ) * D;
        const size_t at = (static_cast<size_t>(position_row(i)) * tokens + token) * kHalf + i;
        const float a = __bfloat162float(x[i]), b = __bfloat162float(x[i + kHalf]);
        x[i] = __float2bfloat16(turn(a, cos[at], b, -sin[at]));
        x[i + kHalf] = __float2bfloat16(turn(b, cos[at], a, sin[at]));
    }
}
