//! idea   one thread an element of y
//! launch silu_mul<<<ceil_div(K*T*N, 256), 256>>>(gu, y, K*T*N)
#include <cuda_bf16.h>

extern "C" __global__ void silu_mul(const __nv_bfloat16* gu, __nv_bfloat16* y, int count) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= count) return;
    const size_t row = i / N, column = i % N;
    const float g = __bfloat162float(gu[row * 2 * N + column]), u = __bfloat162float(gu[row * 2 * N + N + column]);
    float silu = g / (1 + expf(-g));
    if (ROUNDING_TWO) silu = __bfloat162float(__float2bfloat16(silu));
    y[i] = __float2bfloat16(silu * u);
}
