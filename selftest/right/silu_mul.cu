//! launch silu_mul<<<K*T, 256>>>(gu, y)
#include <cuda_bf16.h>

extern "C" __global__ void __launch_bounds__(256) silu_mul(const __nv_bfloat16* gu, __nv_bfloat16* y)
{
    gu += blockIdx.x * (long long)(2 * N);
    y += blockIdx.x * (long long)N;
    for (int i = threadIdx.x; i < N; i += 256) {
        const float g = __bfloat162float(gu[i]), u = __bfloat162float(gu[N + i]);
        const float silu = __bfloat162float(__float2bfloat16(g / (1.0f + expf(-g))));
        y[i] = __float2bfloat16(silu * u);
    }
}
