//! launch add_rmsnorm<<<T, 256>>>(x, res, w, y, eps)
#include <cuda_bf16.h>

extern "C" __global__ void __launch_bounds__(256)
add_rmsnorm(const __nv_bfloat16* x, __nv_bfloat16* res, const __nv_bfloat16* w, __nv_bfloat16* y, float eps)
{
    __shared__ float part[256];
    __shared__ __nv_bfloat16 sum[H];
    x += blockIdx.x * (long long)H;
    res += blockIdx.x * (long long)H;
    y += blockIdx.x * (long long)H;
    float squares = 0.0f;
    for (int i = threadIdx.x; i < H; i += 256) {
        const __nv_bfloat16 h = __float2bfloat16(__bfloat162float(x[i]) + __bfloat162float(res[i]));
        sum[i] = h;
        res[i] = h;
        squares += __bfloat162float(h) * __bfloat162float(h);
    }
    part[threadIdx.x] = squares;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    const float scale = rsqrtf(part[0] / H + eps);
    for (int i = threadIdx.x; i < H; i += 256)
        y[i] = __float2bfloat16(__bfloat162float(sum[i]) * scale * __bfloat162float(w[i]));
}
