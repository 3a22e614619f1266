//! launch linear<<<(N, T), 128>>>(x, w, y)
// One block an output; products and sums in double, rounded once at the end.
#include <cuda_bf16.h>

constexpr int kThreads = 128;

__device__ double get(__nv_bfloat16 v) { return __bfloat162float(v); }
__device__ void put(double* p, double v) { *p = v; }
__device__ void put(__nv_bfloat16* p, double v) { *p = __double2bfloat16(v); }

extern "C" __global__ void linear(const x_t* x, const w_t* w, y_t* y) {
    __shared__ double part[kThreads / 32];
    x += static_cast<long long>(blockIdx.y) * K;
    w += static_cast<long long>(blockIdx.x) * K;
    double sum = 0;
    for (int i = threadIdx.x; i < K; i += kThreads) sum += get(x[i]) * get(w[i]);
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (int i = 1; i < kThreads / 32; ++i) sum += part[i];
    put(&y[static_cast<long long>(blockIdx.y) * N + blockIdx.x], sum);
}
