//! task   nano30b_rmsnorm
//! idea   one block a row, each thread a chunk of neighbouring elements: the warp's accesses lie far apart
//! tune   BLOCK = 128, 64, 256, 512
//! launch rmsnorm<<<T, BLOCK>>>(x, w, y, eps)
#include <cuda_bf16.h>

extern "C" __global__ void rmsnorm(const __nv_bfloat16* x, const __nv_bfloat16* w, __nv_bfloat16* y, float eps) {
    __shared__ float sum;
    constexpr int kChunk = (H + BLOCK - 1) / BLOCK;
    const size_t row = static_cast<size_t>(blockIdx.x) * H;
    const int first = threadIdx.x * kChunk, end = min(H, first + kChunk);
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    float squares = 0;
    for (int i = first; i < end; ++i) squares += __bfloat162float(x[row + i]) * __bfloat162float(x[row + i]);
    atomicAdd(&sum, squares);
    __syncthreads();
    const float r = rsqrtf(sum / H + eps);
    for (int i = first; i < end; ++i)
        y[row + i] = __float2bfloat16(__bfloat162float(x[row + i]) * r * __bfloat162float(w[i]));
}
