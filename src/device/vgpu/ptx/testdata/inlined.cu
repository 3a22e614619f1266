#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ __forceinline__ float load(const float* x, int i) {
    return x[i];
}

__device__ __forceinline__ float twice(const float* x, int i) {
    float a = load(x, i);
    float b = load(x, i + 1);
    return a + b;
}

__device__ __constant__ float table[4] = {1.f, 2.f, 3.f, 4.f};
__device__ const char* names[2] = {"hello", "x\"y"};

__device__ __noinline__ float slow(float x, int n) {
    float s = 0;
    for (int i = 0; i < n; ++i) s += __sinf(x * i);
    return s;
}

extern __shared__ char dynamic[];

template <int N>
__global__ void __launch_bounds__(256) kernel(const float* __restrict__ x, __nv_bfloat162* y, __half* h, int n) {
    __shared__ float partial[N];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    partial[threadIdx.x % N] = twice(x, i) + table[i & 3];
    __syncthreads();
    float v = slow(partial[(threadIdx.x + 1) % N], n);
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
    ((float*)dynamic)[threadIdx.x] = v;
    __syncwarp();
    y[i] = __floats2bfloat162_rn(v, ((float*)dynamic)[threadIdx.x ^ 1]);
    h[i] = __float2half(v);
    if (v > 3.f) asm volatile("{ .reg .pred p; setp.eq.s32 p, %0, 3; @p trap; }" ::"r"(n));
    printf("%s %d\n", names[n & 1], i);
}
template __global__ void kernel<32>(const float*, __nv_bfloat162*, __half*, int);
