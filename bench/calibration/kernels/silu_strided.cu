//! task   qwen35moe_silu_mul
//! idea   neighbouring threads take neighbouring rows: every access is a sector of its own
//! tune   BLOCK = 128, 512
//! launch silu_mul<<<ceil_div(K*T*N, BLOCK), BLOCK>>>(gu, y, K*T)
#include <cuda_bf16.h>

extern "C" __global__ void silu_mul(const __nv_bfloat16* gu, __nv_bfloat16* y, int rows) {
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    const int row = i % rows, column = i / rows;
    if (column >= N) return;
    const float g = __bfloat162float(gu[static_cast<size_t>(row) * 2 * N + column]);
    const float u = __bfloat162float(gu[static_cast<size_t>(row) * 2 * N + N + column]);
    y[static_cast<size_t>(row) * N + column] =
        __float2bfloat16(__bfloat162float(__float2bfloat16(g / (1 + expf(-g)))) * u);
}
