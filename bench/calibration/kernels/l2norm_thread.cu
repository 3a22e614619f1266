//! task   qwen35_l2norm
//! idea   one thread a row
//! tune   BLOCK = 32, 128, 512
//! launch l2norm<<<ceil_div(K*T, BLOCK), BLOCK>>>(x, y, eps, K*T)
#include <cuda_bf16.h>

extern "C" __global__ void l2norm(const __nv_bfloat16* x, __nv_bfloat16* y, float eps, int rows) {
    const int row = blockIdx.x * BLOCK + threadIdx.x;
    if (row >= rows) return;
    x += static_cast<size_t>(row) * H;
    y += static_cast<size_t>(row) * H;
    float squares = 0;
    for (int i = 0; i < H; ++i) squares += __bfloat162float(x[i]) * __bfloat162float(x[i]);
    const float r = rsqrtf(squares + eps);
    for (int i = 0; i < H; ++i) y[i] = __float2bfloat16(__bfloat162float(x[i]) * r);
}
