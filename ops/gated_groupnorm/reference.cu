//! launch gated_groupnorm<<<(T, G), 256>>>(y, z, w, out, eps)
// One block a group of a row. u = y * silu(z) stays in double; with rounding = two the normed value is rounded to
// bf16 before the weight multiplies it.
#include <cuda_bf16.h>

constexpr int kThreads = 256;

__device__ double get(__nv_bfloat16 v) { return __bfloat162float(v); }
__device__ double round_bf16(double v) { return __bfloat162float(__double2bfloat16(v)); }
__device__ void put(double* p, double v) { *p = v; }
__device__ void put(__nv_bfloat16* p, double v) { *p = __double2bfloat16(v); }

// The sum over the threads of the block, in every thread. A barrier lies inside.
__device__ double block_sum(double v) {
    __shared__ double part[kThreads / 32];
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    double sum = 0;
    for (int i = 0; i < kThreads / 32; ++i) sum += part[i];
    return sum;
}

__device__ double gated(__nv_bfloat16 y, __nv_bfloat16 z) { return get(y) * (get(z) / (1 + exp(-get(z)))); }

extern "C" __global__ void gated_groupnorm(const y_t* y, const z_t* z, const w_t* w, out_t* out, float eps) {
    constexpr int kWidth = D / G;
    const int first = blockIdx.y * kWidth;
    y += static_cast<long long>(blockIdx.x) * D + first;
    z += static_cast<long long>(blockIdx.x) * S + first;
    out += static_cast<long long>(blockIdx.x) * D + first;
    double squares = 0;
    for (int i = threadIdx.x; i < kWidth; i += kThreads) {
        const double u = gated(y[i], z[i]);
        squares += u * u;
    }
    const double r = 1 / sqrt(block_sum(squares) / kWidth + eps);
    for (int i = threadIdx.x; i < kWidth; i += kThreads) {
        const double normed = gated(y[i], z[i]) * r;
        put(&out[i], (ROUNDING_TWO ? round_bf16(normed) : normed) * get(w[first + i]));
    }
}
