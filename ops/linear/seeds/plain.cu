//! idea   one warp an output, one element at a time: every token reads all weights again
//! launch linear<<<(ceil_div(N, 4), T), 128>>>(x, w, y)
#include <cuda_bf16.h>

extern "C" __global__ void __launch_bounds__(128) linear(const __nv_bfloat16* x, const __nv_bfloat16* w, __nv_bfloat16* y) {
    const int lane = threadIdx.x % 32, n = blockIdx.x * 4 + threadIdx.x / 32;
    if (n >= N) return;
    x += static_cast<size_t>(blockIdx.y) * K;
    w += static_cast<size_t>(n) * K;
    float sum = 0;
    for (int i = lane; i < K; i += 32) sum += __bfloat162float(x[i]) * __bfloat162float(w[i]);
#pragma unroll
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
    if (lane == 0) y[static_cast<size_t>(blockIdx.y) * N + n] = __float2bfloat16(sum);
}
