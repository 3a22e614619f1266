//! launch rmsnorm<<<T, 256>>>(x, w, y, eps, T)
#include <cuda_bf16.h>

// The sum over the block's 256 threads, in each of them.
__device__ float block_sum(float v)
{
    __shared__ float part[8];
    for (int step = 16; step > 0; step /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, step);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    float total = 0.0f;
    for (int i = 0; i < 8; ++i)
        total += part[i];
    return total;
}

extern "C" __global__ void __launch_bounds__(256)
rmsnorm(const __nv_bfloat16* x, const __nv_bfloat16* w, __nv_bfloat16* y, float eps, int rows)
{
    const long long row = blockIdx.x;
    x += row * H;
    y += row * H;
    float squares = 0.0f;
    for (int i = threadIdx.x; i < H; i += 256) {
        const float v = __bfloat162float(x[i]);
        squares += v * v;
    }
    const float scale = rsqrtf(block_sum(squares) / H + eps);
    for (int i = threadIdx.x; i < H; i += 256) {
        const float v = __bfloat162float(x[i]) * scale * __bfloat162float(w[i]);
        y[i] = __float2bfloat16(v);
    }
}
