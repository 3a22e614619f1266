//! idea    two instructions a pair: maximum and product of packed bf16, both exact to one rounding; 16-byte accesses
//! tune    BLOCK = 128, 64, 256, 512
//! tune    UNROLL = 1, 2, 4
//! require N % 8 == 0
//! launch  relu2<<<ceil_div(K*T*(N/8), BLOCK*UNROLL), BLOCK>>>(x, y, K*T*(N/8))
#include <cuda_bf16.h>

__device__ unsigned relu2(unsigned word) {
    const __nv_bfloat162 pair = *reinterpret_cast<const __nv_bfloat162*>(&word);
    const __nv_bfloat162 positive = __hmax2_nan(pair, __floats2bfloat162_rn(0.0f, 0.0f));
    const __nv_bfloat162 result = __hmul2(positive, positive);
    return *reinterpret_cast<const unsigned*>(&result);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    relu2(const uint4* __restrict__ x, uint4* __restrict__ y, int count) {
    const int first = blockIdx.x * BLOCK * UNROLL + threadIdx.x;
    uint4 held[UNROLL];
#pragma unroll
    for (int j = 0; j < UNROLL; ++j) {
        if (first + j * BLOCK < count) held[j] = x[first + j * BLOCK];
    }
#pragma unroll
    for (int j = 0; j < UNROLL; ++j) {
        if (first + j * BLOCK >= count) break;
        const uint4 v = held[j];
        y[first + j * BLOCK] = make_uint4(relu2(v.x), relu2(v.y), relu2(v.z), relu2(v.w));
    }
}
