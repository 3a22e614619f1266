// C = A B for N x N matrices: one thread an element, by tiles in shared memory, by tensor cores.
#include <cuda_bf16.h>
#include <mma.h>

#ifndef TILE
#define TILE 16
#endif

extern "C" __global__ void naive(const float* a, const float* b, float* c) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < N; ++k) sum += a[row * N + k] * b[k * N + column];
    c[row * N + column] = sum;
}

extern "C" __global__ void tiled(const float* a, const float* b, float* c) {
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    const int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < N; k += TILE) {
        left[threadIdx.y][threadIdx.x] = a[row * N + k + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * N + column];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    c[row * N + column] = sum;
}

// A warp a tile of 16 x 16, its operands straight from memory.
extern "C" __global__ void tensor(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c) {
    using namespace nvcuda::wmma;
    const int warp = threadIdx.x / 32;
    const int row = blockIdx.y * 16, column = (blockIdx.x * (blockDim.x / 32) + warp) * 16;
    fragment<matrix_a, 16, 16, 16, __nv_bfloat16, row_major> left;
    fragment<matrix_b, 16, 16, 16, __nv_bfloat16, row_major> right;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.0f);
    for (int k = 0; k < N; k += 16) {
        load_matrix_sync(left, a + row * N + k, N);
        load_matrix_sync(right, b + k * N + column, N);
        mma_sync(sum, left, right, sum);
    }
    store_matrix_sync(c + row * N + column, sum, N, mem_row_major);
}
