// What happens inside an SM: chains of arithmetic, special functions, shared memory, barriers, divergence, local arrays.
#ifndef WAYS
#define WAYS 1
#endif
#ifndef CHAINS
#define CHAINS 1
#endif

// CHAINS independent chains of ROUNDS dependent multiplications and additions.
extern "C" __global__ void multiply_add(float* y, float a, float b) {
    float held[CHAINS];
    for (int c = 0; c < CHAINS; ++c) held[c] = threadIdx.x + c;
#pragma unroll 1
    for (int i = 0; i < ROUNDS; ++i) {
#pragma unroll
        for (int c = 0; c < CHAINS; ++c) held[c] = held[c] * a + b;
    }
    float sum = 0;
    for (int c = 0; c < CHAINS; ++c) sum += held[c];
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void special(float* y, float a) {
    float held = threadIdx.x * a;
#pragma unroll 4
    for (int i = 0; i < ROUNDS; ++i) held = __expf(held) * rsqrtf(held + a);
    y[blockIdx.x * blockDim.x + threadIdx.x] = held;
}

extern "C" __global__ void divide(int* y, int a) {
    int held = blockIdx.x * blockDim.x + threadIdx.x + 1000;
#pragma unroll 1
    for (int i = 0; i < ROUNDS; ++i) held = held * 77 / (a + i) + 1000;
    y[blockIdx.x * blockDim.x + threadIdx.x] = held;
}

// Reads of shared memory WAYS words apart from lane to lane.
extern "C" __global__ void banks(int* y) {
    __shared__ int held[2048];
    for (int i = threadIdx.x; i < 2048; i += blockDim.x) held[i] = i;
    __syncthreads();
    int at = threadIdx.x * WAYS & 2047, sum = 0;
#pragma unroll 4
    for (int i = 0; i < ROUNDS; ++i) {
        sum += held[at];
        at = (at + 32 * WAYS) & 2047;
    }
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void barriers(int* y) {
    __shared__ int held[1024];
    held[threadIdx.x] = threadIdx.x;
#pragma unroll 1
    for (int i = 0; i < ROUNDS; ++i) {
        __syncthreads();
        const int next = held[(threadIdx.x + 1) % blockDim.x];
        __syncthreads();
        held[threadIdx.x] = next;
    }
    y[blockIdx.x * blockDim.x + threadIdx.x] = held[threadIdx.x];
}

extern "C" __global__ void shuffles(int* y) {
    int held = threadIdx.x;
#pragma unroll 1
    for (int i = 0; i < ROUNDS; ++i) {
#pragma unroll
        for (int d = 16; d > 0; d /= 2) held += __shfl_xor_sync(0xffffffff, held, d);
    }
    y[blockIdx.x * blockDim.x + threadIdx.x] = held;
}

// WAYS groups of lanes take turns.
extern "C" __global__ void divergent(float* y, float a) {
    float held = threadIdx.x;
    const int group = threadIdx.x % WAYS;
#pragma unroll 1
    for (int w = 0; w < WAYS; ++w) {
        if (group != w) continue;
#pragma unroll 1
        for (int i = 0; i < ROUNDS; ++i) held = held * a + w;
    }
    y[blockIdx.x * blockDim.x + threadIdx.x] = held;
}

// An array that data indexes lies in local memory.
extern "C" __global__ void local_array(int* y, int step) {
    int held[64];
    for (int i = 0; i < 64; ++i) held[i] = i * step;
    int at = threadIdx.x;
#pragma unroll 1
    for (int i = 0; i < ROUNDS; ++i) at = (held[at & 63] + i) & 0xffff;
    y[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

// Each read waits for the one before it.
extern "C" __global__ void chase(const int* next, int* y, int mask) {
    int at = (blockIdx.x * blockDim.x + threadIdx.x) * 61 & mask;
#pragma unroll 1
    for (int i = 0; i < ROUNDS; ++i) at = (next[at] * 1021 + 7919) & mask;
    y[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

extern "C" __global__ void nothing(int*) {}
