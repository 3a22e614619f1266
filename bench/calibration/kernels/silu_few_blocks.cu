//! task   qwen35moe_silu_mul
//! idea   a fixed number of blocks strides over all elements, one at a time
//! tune   BLOCKS = 132, 1, 16, 528
//! tune   BLOCK = 256, 1024
//! launch silu_mul<<<BLOCKS, BLOCK>>>(gu, y, K*T*N)
#include <cuda_bf16.h>

extern "C" __global__ void silu_mul(const __nv_bfloat16* gu, __nv_bfloat16* y, int count) {
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < count; i += BLOCKS * BLOCK) {
        const size_t row = i / N, column = i % N;
        const float g = __bfloat162float(gu[row * 2 * N + column]);
        const float u = __bfloat162float(gu[row * 2 * N + N + column]);
        y[i] = __float2bfloat16(__bfloat162float(__float2bfloat16(g / (1 + expf(-g)))) * u);
    }
}
