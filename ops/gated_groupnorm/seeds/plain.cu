//! idea   one block a group of a row, one element at a time; the gate is computed in both passes
//! launch gated_groupnorm<<<(T, G), 256>>>(y, z, w, out, eps)
#include <cuda_bf16.h>

constexpr int kThreads = 256;

__device__ float round_bf16(float v) { return __bfloat162float(__float2bfloat16(v)); }

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

__device__ float gated(__nv_bfloat16 y, __nv_bfloat16 z) {
    const float gate = __bfloat162float(z);
    return __bfloat162float(y) * (gate / (1 + expf(-gate)));
}

extern "C" __global__ void __launch_bounds__(kThreads)
    gated_groupnorm(const __nv_bfloat16* y, const __nv_bfloat16* z, const __nv_bfloat16* w, __nv_bfloat16* out,
                    float eps) {
    constexpr int kWidth = D / G;
    const size_t first = blockIdx.y * kWidth;
    y += static_cast<size_t>(blockIdx.x) * D + first;
    z += static_cast<size_t>(blockIdx.x) * S + first;
    out += static_cast<size_t>(blockIdx.x) * D + first;
    float squares = 0;
    for (int i = threadIdx.x; i < kWidth; i += kThreads) {
        const float u = gated(y[i], z[i]);
        squares += u * u;
    }
    const float r = rsqrtf(block_sum(squares) / kWidth + eps);
    for (int i = threadIdx.x; i < kWidth; i += kThreads) {
        const float normed = gated(y[i], z[i]) * r;
        out[i] = __float2bfloat16((ROUNDING_TWO ? round_bf16(normed) : normed) * __bfloat162float(w[first + i]));
    }
}
