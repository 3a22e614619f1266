//! idea   one thread an element
//! launch relu2<<<ceil_div(K*T*N, 256), 256>>>(x, y, K*T*N)
#include <cuda_bf16.h>

extern "C" __global__ void relu2(const __nv_bfloat16* x, __nv_bfloat16* y, int count) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= count) return;
    const float v = __bfloat162float(x[i]);
    const float positive = v < 0 ? 0 : v;  // NaN stays NaN
    y[i] = __float2bfloat16(positive * positive);
}
