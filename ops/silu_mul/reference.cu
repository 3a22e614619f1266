//! launch silu_mul<<<ceil_div(K*T*N, 256), 256>>>(gu, y, K*T*N)
// One thread an element of y. With rounding = two silu(g) is rounded to bf16 before the product.
#include <cuda_bf16.h>

constexpr int kThreads = 256;

__device__ double get(__nv_bfloat16 v) { return __bfloat162float(v); }
__device__ double round_bf16(double v) { return __bfloat162float(__double2bfloat16(v)); }
__device__ void put(double* p, double v) { *p = v; }
__device__ void put(__nv_bfloat16* p, double v) { *p = __double2bfloat16(v); }

extern "C" __global__ void silu_mul(const gu_t* gu, y_t* y, int count) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i >= count) return;
    const long long row = i / N, column = i % N;
    const double g = get(gu[row * 2 * N + column]), u = get(gu[row * 2 * N + N + column]);
    const double silu = g / (1 + exp(-g));
    put(&y[i], (ROUNDING_TWO ? round_bf16(silu) : silu) * u);
}
