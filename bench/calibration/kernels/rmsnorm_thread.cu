//! task   nano30b_rmsnorm
//! idea   one thread a row: neighbouring threads read a whole row apart
//! tune   BLOCK = 32, 128
//! launch rmsnorm<<<ceil_div(T, BLOCK), BLOCK>>>(x, w, y, eps, T)
#include <cuda_bf16.h>

extern "C" __global__ void rmsnorm(const __nv_bfloat16* x, const __nv_bfloat16* w, __nv_bfloat16* y, float eps,
                                   int rows) {
    const int row = blockIdx.x * BLOCK + threadIdx.x;
    if (row >= rows) return;
    x += static_cast<size_t>(row) * H;
    y += static_cast<size_t>(row) * H;
    float squares = 0;
    for (int i = 0; i < H; ++i) squares += __bfloat162float(x[i]) * __bfloat162float(x[i]);
    const float r = rsqrtf(squares / H + eps);
    for (int i = 0; i < H; ++i) y[i] = __float2bfloat16(__bfloat162float(x[i]) * r * __bfloat162float(w[i]));
}
