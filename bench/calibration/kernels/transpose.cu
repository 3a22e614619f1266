// Transposes N x N floats, straight from memory or by tiles in shared memory, padded or not.
#ifndef PAD
#define PAD 0
#endif

extern "C" __global__ void naive(const float* x, float* y) {
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    y[column * N + row] = x[row * N + column];
}

extern "C" __global__ void tiled(const float* x, float* y) {
    __shared__ float tile[32][32 + PAD];
    for (int j = threadIdx.y; j < 32; j += 8)
        tile[j][threadIdx.x] = x[(blockIdx.y * 32 + j) * N + blockIdx.x * 32 + threadIdx.x];
    __syncthreads();
    for (int j = threadIdx.y; j < 32; j += 8)
        y[(blockIdx.x * 32 + j) * N + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][j];
}
