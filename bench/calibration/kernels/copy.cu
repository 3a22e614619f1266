// Copies: how wide, how many a thread, how far apart, with how much shared memory held beside them.
#ifndef UNROLL
#define UNROLL 1
#endif
#ifndef STRIDE
#define STRIDE 1
#endif

template <typename T>
__device__ void copied(const T* x, T* y) {
    const int first = blockIdx.x * blockDim.x * UNROLL + threadIdx.x;
    T held[UNROLL];
#pragma unroll
    for (int j = 0; j < UNROLL; ++j) held[j] = x[first + j * blockDim.x];
#pragma unroll
    for (int j = 0; j < UNROLL; ++j) y[first + j * blockDim.x] = held[j];
}

extern "C" __global__ void copy1(const unsigned char* x, unsigned char* y) { copied(x, y); }
extern "C" __global__ void copy2(const unsigned short* x, unsigned short* y) { copied(x, y); }
extern "C" __global__ void copy4(const float* x, float* y) { copied(x, y); }
extern "C" __global__ void copy8(const float2* x, float2* y) { copied(x, y); }
extern "C" __global__ void copy16(const float4* x, float4* y) { copied(x, y); }

// `mask` is the number of elements less one.
extern "C" __global__ void strided_read(const float* x, float* y, int mask) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[(i * STRIDE) & mask];
}

extern "C" __global__ void strided_write(const float* x, float* y, int mask) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[(i * STRIDE) & mask] = x[i];
}

extern "C" __global__ void scattered_read(const float* x, float* y, int mask) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[(i * 2654435761u >> 7) & mask];
}

// A grid that strides: so many rounds a thread.
extern "C" __global__ void rounds(const float4* x, float4* y, int count) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) y[i] = x[i];
}
