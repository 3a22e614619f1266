//! task    nano30b_gated_groupnorm
//! idea    GROUPS groups of a row a block, each with a barrier of its own, EACH elements a thread: fewer blocks to start, and as many warps for the exponentials
//! tune    GROUPS = 2
//! tune    EACH = 4
//! require D % (32 * EACH * G) == 0 && S % EACH == 0 && GROUPS * D / G / EACH <= 1024 && G % GROUPS == 0
//! launch  gated_groupnorm<<<(G / GROUPS, T), GROUPS * D / G / EACH>>>(y, z, w, out, eps)
#include <cuda_bf16.h>

constexpr int kThreads = D / G / EACH, kWarps = kThreads / 32;  // of a group

struct alignas(2 * EACH) Pack {
    __nv_bfloat162 pair[EACH / 2];
};

extern "C" __global__ void __launch_bounds__(GROUPS * kThreads)
    gated_groupnorm(const Pack* __restrict__ y, const Pack* __restrict__ z, const Pack* __restrict__ w,
                    Pack* __restrict__ out, float eps) {
    const int at = blockIdx.x * GROUPS * kThreads + threadIdx.x;  // within a row
    const size_t row = blockIdx.y;
    const Pack gate = z[row * (S / EACH) + at], value = y[row * (D / EACH) + at], scale = w[at];

    float u[EACH], squares = 0;
#pragma unroll
    for (int p = 0; p < EACH / 2; ++p) {
        const float2 g = __bfloat1622float2(gate.pair[p]), v = __bfloat1622float2(value.pair[p]);
        u[2 * p] = v.x * __fdividef(g.x, 1 + __expf(-g.x));
        u[2 * p + 1] = v.y * __fdividef(g.y, 1 + __expf(-g.y));
        squares += u[2 * p] * u[2 * p] + u[2 * p + 1] * u[2 * p + 1];
    }
#pragma unroll
    for (int d = 16; d > 0; d /= 2) squares += __shfl_xor_sync(0xffffffffu, squares, d);
    if (kWarps > 1) {
        __shared__ float part[GROUPS][kWarps];
        const int group = threadIdx.x / kThreads, warp = threadIdx.x / 32 % kWarps;
        if (threadIdx.x % 32 == 0) part[group][warp] = squares;
        asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "n"(kThreads) : "memory");
        squares = 0;
#pragma unroll
        for (int i = 0; i < kWarps; ++i) squares += part[group][i];
    }
    const float r = rsqrtf(squares / (D / G) + eps);

    Pack result;
#pragma unroll
    for (int p = 0; p < EACH / 2; ++p) {
        float2 n = make_float2(u[2 * p] * r, u[2 * p + 1] * r);
        if (ROUNDING_TWO) n = __bfloat1622float2(__float22bfloat162_rn(n));
        const float2 by = __bfloat1622float2(scale.pair[p]);
        result.pair[p] = __floats2bfloat162_rn(n.x * by.x, n.y * by.y);
    }
    out[row * (D / EACH) + at] = result;
}
