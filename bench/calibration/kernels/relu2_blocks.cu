//! task   nano30b_relu2
//! idea   one element a thread, in blocks of one warp to a whole SM half
//! tune   BLOCK = 32, 64, 512, 1024
//! launch relu2<<<ceil_div(K*T*N, BLOCK), BLOCK>>>(x, y, K*T*N)
#include <cuda_bf16.h>

extern "C" __global__ void relu2(const __nv_bfloat16* x, __nv_bfloat16* y, int count) {
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= count) return;
    const float x1 = __bfloat162float(x[i]), v = x1 <= 0 ? 0 : x1;
    y[i] = __float2bfloat16(v * v);
}
