//! idea   one warp a row, one element at a time, the row is read twice
//! launch l2norm<<<ceil_div(K*T, 4), 128>>>(x, y, eps, K*T)
#include <cuda_bf16.h>

__device__ float warp_sum(float v) {
#pragma unroll
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
    return v;
}

extern "C" __global__ void __launch_bounds__(128)
    l2norm(const __nv_bfloat16* x, __nv_bfloat16* y, float eps, int rows) {
    const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    x += static_cast<size_t>(row) * H;
    y += static_cast<size_t>(row) * H;
    float squares = 0;
    for (int i = lane; i < H; i += 32) squares += __bfloat162float(x[i]) * __bfloat162float(x[i]);
    const float r = rsqrtf(warp_sum(squares) + eps);
    for (int i = lane; i < H; i += 32) y[i] = __float2bfloat16(__bfloat162float(x[i]) * r);
}
