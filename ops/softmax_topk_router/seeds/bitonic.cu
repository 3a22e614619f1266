//! idea    WARPS warps a row sort lists of 32 experts and merge them, keeping 32: hardly slower for a large K
//! tune    WARPS = 1, 2, 4, 8
//! require E <= 65536 && K <= 32 && K <= E && 32*WARPS <= E
//! launch  router<<<T, 32*WARPS>>>(logits, index, weight)
#include <cuda_bf16.h>

constexpr int kLists = (E + 32 * WARPS - 1) / (32 * WARPS);  // lists of a warp

// A logit and its expert in one integer: the logit's bits in the order of floats, then the inverted expert, so that the
// larger key is the better choice and of equals the lower index. 0 is below every key.
__device__ unsigned key_of(unsigned bits, unsigned expert) {
    if (bits == 0x8000) bits = 0;  // -0 equals 0
    const unsigned ordered = bits & 0x8000 ? bits ^ 0xffff : bits | 0x8000;
    return ordered << 16 | (0xffff - expert);
}

__device__ int expert_of(unsigned key) { return 0xffff - (key & 0xffff); }

__device__ float logit_of(unsigned key) {
    const unsigned ordered = key >> 16;
    return __uint_as_float((ordered & 0x8000 ? ordered ^ 0x8000 : ordered ^ 0xffff) << 16);
}

__device__ float warp_sum(float v) {
#pragma unroll
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
    return v;
}

// The lists of a warp hold one key a lane. `settle` makes lane i's key the larger of its own and its partner's where
// keep_larger, else the smaller.
__device__ unsigned settle(unsigned key, int stride, bool keep_larger) {
    const unsigned other = __shfl_xor_sync(0xffffffff, key, stride);
    return (key > other) == keep_larger ? key : other;
}

// Bitonic sort of 32 keys, the largest in lane 0.
__device__ unsigned sorted(unsigned key, int lane) {
#pragma unroll
    for (int size = 2; size <= 32; size *= 2) {
#pragma unroll
        for (int stride = size / 2; stride > 0; stride /= 2) {
            key = settle(key, stride, ((lane & stride) == 0) == ((lane & size) == 0));
        }
    }
    return key;
}

// The 32 largest of two sorted lists, sorted.
__device__ unsigned merged(unsigned a, unsigned b, int lane) {
    const unsigned reversed = __shfl_xor_sync(0xffffffff, b, 31);
    unsigned key = a > reversed ? a : reversed;
#pragma unroll
    for (int stride = 16; stride > 0; stride /= 2) key = settle(key, stride, (lane & stride) == 0);
    return key;
}

template <int N>
__device__ unsigned merged(unsigned (&list)[N], int lane) {
#pragma unroll
    for (int width = 1; width < N; width *= 2) {
#pragma unroll
        for (int j = 0; j + width < N; j += 2 * width) list[j] = merged(list[j], list[j + width], lane);
    }
    return list[0];
}

extern "C" __global__ void __launch_bounds__(32 * WARPS)
    router(const unsigned short* __restrict__ logits, int* index, __nv_bfloat16* weight) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    logits += static_cast<size_t>(blockIdx.x) * E;
    unsigned list[kLists];
#pragma unroll
    for (int j = 0; j < kLists; ++j) {
        const int e = (j * WARPS + warp) * 32 + lane;
        list[j] = e < E ? key_of(logits[e], e) : 0;
    }
#pragma unroll
    for (int j = 0; j < kLists; ++j) list[j] = sorted(list[j], lane);
    unsigned key = merged(list, lane);
    if (WARPS > 1) {
        __shared__ unsigned best[WARPS][32];
        best[warp][lane] = key;
        __syncthreads();
        if (warp > 0) return;
        unsigned lists[WARPS];
#pragma unroll
        for (int j = 0; j < WARPS; ++j) lists[j] = best[j][lane];
        key = merged(lists, lane);
    }

    // Lane 0 has the largest logit of all; the denominator over all experts cancels.
    const float largest = __shfl_sync(0xffffffff, logit_of(key), 0);
    const float p = lane < K ? expf(logit_of(key) - largest) : 0;
    const float sum = warp_sum(p);
    if (lane < K) {
        index[static_cast<size_t>(blockIdx.x) * K + lane] = expert_of(key);
        weight[static_cast<size_t>(blockIdx.x) * K + lane] = __float2bfloat16(p / sum);
    }
}
