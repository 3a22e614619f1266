//! idea    accesses of 4*WORDS bytes, UNROLL of them under way in a thread; arithmetic in f32
//! tune    WORDS = 4, 2
//! tune    BLOCK = 128, 64, 256, 512
//! tune    UNROLL = 1, 2, 4
//! require N % (2*WORDS) == 0
//! launch  relu2<<<ceil_div(K*T*(N/(2*WORDS)), BLOCK*UNROLL), BLOCK>>>(x, y, K*T*(N/(2*WORDS)))
#include <cuda_bf16.h>

// What a thread moves at once: WORDS pairs of bf16, in one access.
struct alignas(4 * WORDS) Words {
    unsigned word[WORDS];
};

__device__ float relu2(float v) {
    const float positive = v < 0 ? 0 : v;  // NaN stays NaN
    return positive * positive;
}

__device__ unsigned relu2(unsigned pair) {
    const __nv_bfloat162 result =
        __floats2bfloat162_rn(relu2(__uint_as_float(pair << 16)), relu2(__uint_as_float(pair & 0xffff0000u)));
    return *reinterpret_cast<const unsigned*>(&result);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    relu2(const Words* __restrict__ x, Words* __restrict__ y, int count) {
    const int first = blockIdx.x * BLOCK * UNROLL + threadIdx.x;
    Words held[UNROLL];
#pragma unroll
    for (int j = 0; j < UNROLL; ++j) {
        if (first + j * BLOCK < count) held[j] = x[first + j * BLOCK];
    }
#pragma unroll
    for (int j = 0; j < UNROLL; ++j) {
        if (first + j * BLOCK >= count) break;
#pragma unroll
        for (int p = 0; p < WORDS; ++p) held[j].word[p] = relu2(held[j].word[p]);
        y[first + j * BLOCK] = held[j];
    }
}
