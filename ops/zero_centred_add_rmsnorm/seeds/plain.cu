//! idea   one block a row, one element at a time: the sum is stored and read again by the same thread
//! launch zero_centred_add_rmsnorm<<<T, 256>>>(x, res, w, y, eps)
#include <cuda_bf16.h>

constexpr int kThreads = 256;

// The sum over the block, in every thread. Used once, so no barrier guards `part` against a second use.
__device__ float block_sum(float v) {
    alignas(16) __shared__ float part[kThreads / 32];
#pragma unroll
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
    if (kThreads == 32) return v;
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kThreads / 32; ++i) sum += part[i];
    return sum;
}

extern "C" __global__ void __launch_bounds__(kThreads)
    zero_centred_add_rmsnorm(const __nv_bfloat16* x, __nv_bfloat16* res, const __nv_bfloat16* w, __nv_bfloat16* y,
                             float eps) {
    const size_t row = static_cast<size_t>(blockIdx.x) * H;
    float squares = 0;
    for (int i = threadIdx.x; i < H; i += kThreads) {
        const __nv_bfloat16 h = __float2bfloat16(__bfloat162float(x[row + i]) + __bfloat162float(res[row + i]));
        res[row + i] = h;
        squares += __bfloat162float(h) * __bfloat162float(h);
    }
    const float r = rsqrtf(block_sum(squares) / H + eps);
    for (int i = threadIdx.x; i < H; i += kThreads) {
        const float normed = __bfloat162float(res[row + i]) * r;
        y[row + i] = __float2bfloat16(normed * (1 + __bfloat162float(w[i])));
    }
}
