//! task   nano30b_rmsnorm
//! idea   the row waits in shared memory, WAYS words from element to element: WAYS-fold bank conflicts
//! tune   WAYS = 1, 2, 4, 8, 16
//! tune   BLOCK = 256, 1024
//! launch rmsnorm<<<T, BLOCK, 4*H*WAYS>>>(x, w, y, eps)
#include <cuda_bf16.h>

extern __shared__ float held[];

extern "C" __global__ void rmsnorm(const __nv_bfloat16* x, const __nv_bfloat16* w, __nv_bfloat16* y, float eps) {
    __shared__ float part[BLOCK];
    const size_t row = static_cast<size_t>(blockIdx.x) * H;
    float squares = 0;
    for (int i = threadIdx.x; i < H; i += BLOCK) {
        const float v = __bfloat162float(x[row + i]);
        held[i * WAYS] = v;
        squares += v * v;
    }
    part[threadIdx.x] = squares;
    for (int n = BLOCK / 2; n > 0; n /= 2) {
        __syncthreads();
        if (threadIdx.x < n) part[threadIdx.x] += part[threadIdx.x + n];
    }
    __syncthreads();
    const float r = rsqrtf(part[0] / H + eps);
    for (int i = threadIdx.x; i < H; i += BLOCK)
        y[row + i] = __float2bfloat16(held[i * WAYS] * r * __bfloat162float(w[i]));
}
