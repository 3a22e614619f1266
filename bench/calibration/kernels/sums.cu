// Sums and histograms: atomics on few or many addresses, in global or shared memory, shuffles, trees.
#ifndef ADDRESSES
#define ADDRESSES 1
#endif

extern "C" __global__ void count_global(int* counts) {
    atomicAdd(&counts[(blockIdx.x * blockDim.x + threadIdx.x) * 7 % ADDRESSES], 1);
}

extern "C" __global__ void count_returned(int* counts, int* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = atomicAdd(&counts[i * 7 % ADDRESSES], 1);
}

extern "C" __global__ void count_shared(int* counts) {
    __shared__ int held[ADDRESSES <= 4096 ? ADDRESSES : 1];
    for (int i = threadIdx.x; i < ADDRESSES; i += blockDim.x) held[i] = 0;
    __syncthreads();
    for (int i = 0; i < 64; ++i) atomicAdd(&held[(threadIdx.x * 7 + i) % ADDRESSES], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < ADDRESSES; i += blockDim.x) atomicAdd(&counts[i], held[i]);
}

extern "C" __global__ void sum_atomic(const float* x, float* y) {
    atomicAdd(y, x[blockIdx.x * blockDim.x + threadIdx.x]);
}

extern "C" __global__ void sum_warp(const float* x, float* y) {
    float v = x[blockIdx.x * blockDim.x + threadIdx.x];
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
    if (threadIdx.x % 32 == 0) atomicAdd(y, v);
}

extern "C" __global__ void sum_tree(const float* x, float* y) {
    __shared__ float held[256];
    held[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];
    for (int n = 128; n > 0; n /= 2) {
        __syncthreads();
        if (threadIdx.x < n) held[threadIdx.x] += held[threadIdx.x + n];
    }
    if (threadIdx.x == 0) atomicAdd(y, held[0]);
}

// Few blocks, each a long stretch in float4.
extern "C" __global__ void sum_wide(const float4* x, float* y, int count) {
    float v = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < count; i += gridDim.x * 256) {
        const float4 f = x[i];
        v += f.x + f.y + f.z + f.w;
    }
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
    if (threadIdx.x % 32 == 0) atomicAdd(y, v);
}
