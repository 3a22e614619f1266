//! launch zero_centred_add_rmsnorm<<<T, 256>>>(x, res, res_out, w, y, eps)
// One block a row; the norm reads h = bf16(x + res). Everything behind h is in
// double, rounded once at the end.
// res_out may be the buffer of res: an element is read for the last time just before it is written.
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

extern "C" __global__ void zero_centred_add_rmsnorm(const x_t* x, const res_t* res, res_out_t* res_out, const w_t* w,
                                                    y_t* y, float eps) {
    const long long row = static_cast<long long>(blockIdx.x) * H;
    double squares = 0;
    for (int i = threadIdx.x; i < H; i += kThreads) {
        const double h = round_bf16(get(x[row + i]) + get(res[row + i]));
        squares += h * h;
    }
    const double r = 1 / sqrt(block_sum(squares) / H + eps);
    for (int i = threadIdx.x; i < H; i += kThreads) {
        const double h = round_bf16(get(x[row + i]) + get(res[row + i]));
        put(&res_out[row + i], h);
        put(&y[row + i], h * r * (1 + get(w[i])));
    }
}
