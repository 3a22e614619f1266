//! task    nano30b_rmsnorm
//! idea    SPLITS blocks a row add their squares by an atomic, a second launch scales
//! tune    SPLITS = 1, 4, 16
//! tune    BLOCK = 128, 256
//! scratch sums : f32[T] zeroed
//! launch  squares<<<(SPLITS, T), BLOCK>>>(x, sums)
//! launch  scale<<<(SPLITS, T), BLOCK>>>(x, w, sums, y, eps)
#include <cuda_bf16.h>

extern "C" __global__ void squares(const __nv_bfloat16* x, float* sums) {
    const size_t row = static_cast<size_t>(blockIdx.y) * H;
    float sum = 0;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < H; i += SPLITS * BLOCK)
        sum += __bfloat162float(x[row + i]) * __bfloat162float(x[row + i]);
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
    if (threadIdx.x % 32 == 0) atomicAdd(&sums[blockIdx.y], sum);
}

extern "C" __global__ void scale(const __nv_bfloat16* x, const __nv_bfloat16* w, const float* sums, __nv_bfloat16* y,
                                 float eps) {
    const size_t row = static_cast<size_t>(blockIdx.y) * H;
    const float r = rsqrtf(sums[blockIdx.y] / H + eps);
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < H; i += SPLITS * BLOCK)
        y[row + i] = __float2bfloat16(__bfloat162float(x[row + i]) * r * __bfloat162float(w[i]));
}
