//! launch l2norm<<<ceil_div(K*T, 8), 256>>>(x, y, eps, K*T)
// One warp a row, eight rows a block; sums and products in double, rounded once at the end.
#include <cuda_bf16.h>

constexpr int kThreads = 256;

__device__ double get(__nv_bfloat16 v) { return __bfloat162float(v); }
__device__ void put(double* p, double v) { *p = v; }
__device__ void put(__nv_bfloat16* p, double v) { *p = __double2bfloat16(v); }

extern "C" __global__ void l2norm(const x_t* x, y_t* y, float eps, int rows) {
    const int row = blockIdx.x * (kThreads / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    x += static_cast<long long>(row) * H;
    y += static_cast<long long>(row) * H;
    double squares = 0;
    for (int i = lane; i < H; i += 32) squares += get(x[i]) * get(x[i]);
    for (int d = 16; d > 0; d /= 2) squares += __shfl_xor_sync(0xffffffff, squares, d);
    const double r = 1 / sqrt(squares + eps);
    for (int i = lane; i < H; i += 32) put(&y[i], get(x[i]) * r);
}
