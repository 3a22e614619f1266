//! task   nano30b_relu2
//! idea   each thread CHUNK neighbouring elements, one at a time
//! tune   CHUNK = 2, 8, 32
//! launch relu2<<<ceil_div(K*T*N, 256*CHUNK), 256>>>(x, y, K*T*N)
#include <cuda_bf16.h>

extern "C" __global__ void relu2(const __nv_bfloat16* x, __nv_bfloat16* y, int count) {
    const int first = (blockIdx.x * 256 + threadIdx.x) * CHUNK;
    for (int i = first; i < min(count, first + CHUNK); ++i) {
        const float x1 = __bfloat162float(x[i]), v = x1 <= 0 ? 0 : x1;
        y[i] = __float2bfloat16(v * v);
    }
}
