//! idea    accesses of 4*WORDS bytes, UNROLL pairs of g and u under way in a thread; rows and columns as one flat range
//! tune    WORDS = 4, 2
//! tune    BLOCK = 64, 128, 256
//! tune    UNROLL = 1, 2, 4
//! require N % (2*WORDS) == 0
//! launch  silu_mul<<<ceil_div(K*T*(N/(2*WORDS)), BLOCK*UNROLL), BLOCK>>>(gu, y, K*T*(N/(2*WORDS)))
#include <cuda_bf16.h>

constexpr int kWide = N / (2 * WORDS);  // accesses to a row of y

// What a thread moves at once: WORDS pairs of bf16, in one access.
struct alignas(4 * WORDS) Words {
    unsigned word[WORDS];
};

__device__ float silu_mul(float g, float u) {
    float silu = __fdividef(g, 1 + __expf(-g));
    if (ROUNDING_TWO) silu = __bfloat162float(__float2bfloat16(silu));
    return silu * u;
}

__device__ unsigned silu_mul(unsigned g, unsigned u) {
    const __nv_bfloat162 result =
        __floats2bfloat162_rn(silu_mul(__uint_as_float(g << 16), __uint_as_float(u << 16)),
                              silu_mul(__uint_as_float(g & 0xffff0000u), __uint_as_float(u & 0xffff0000u)));
    return *reinterpret_cast<const unsigned*>(&result);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    silu_mul(const Words* __restrict__ gu, Words* __restrict__ y, int count) {
    const int first = blockIdx.x * BLOCK * UNROLL + threadIdx.x;
    Words g[UNROLL], u[UNROLL];
#pragma unroll
    for (int j = 0; j < UNROLL; ++j) {
        const int i = first + j * BLOCK;
        if (i >= count) break;
        const Words* row = gu + static_cast<size_t>(i / kWide) * (2 * kWide) + i % kWide;
        g[j] = row[0];
        u[j] = row[kWide];
    }
#pragma unroll
    for (int j = 0; j < UNROLL; ++j) {
        if (first + j * BLOCK >= count) break;
#pragma unroll
        for (int p = 0; p < WORDS; ++p) g[j].word[p] = silu_mul(g[j].word[p], u[j].word[p]);
        y[first + j * BLOCK] = g[j];
    }
}
