//! idea    one warp a row; logit and expert in one 32-bit key: a round is a lane's best and one redux
//! tune    ROWS = 1, 2, 4
//! require E % 8 == 0 && E <= 65536 && K <= 32 && K <= E
//! launch  router<<<ceil_div(T, ROWS), 32*ROWS>>>(logits, index, weight, T)
#include <cuda_bf16.h>

constexpr int kVectors = (E / 8 + 31) / 32;  // 16-byte vectors of a lane; vector j of a lane is the row's 32*j + lane

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

extern "C" __global__ void __launch_bounds__(32 * ROWS)
    router(const uint4* __restrict__ logits, int* index, __nv_bfloat16* weight, int rows) {
    const int row = blockIdx.x * ROWS + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    logits += static_cast<size_t>(row) * (E / 8);
    unsigned key[kVectors * 8];
#pragma unroll
    for (int j = 0; j < kVectors; ++j) {
        const int vector = j * 32 + lane;
        const bool inside = vector < E / 8;
        const uint4 v = inside ? logits[vector] : make_uint4(0, 0, 0, 0);
        const unsigned word[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (int p = 0; p < 4; ++p) {
            key[j * 8 + 2 * p] = inside ? key_of(word[p] & 0xffff, vector * 8 + 2 * p) : 0;
            key[j * 8 + 2 * p + 1] = inside ? key_of(word[p] >> 16, vector * 8 + 2 * p + 1) : 0;
        }
    }

    unsigned chosen = 0;  // lane k keeps the k-th choice
#pragma unroll 1
    for (int k = 0; k < K; ++k) {
        unsigned best = 0;
#pragma unroll
        for (int n = 0; n < kVectors * 8; ++n) best = max(best, key[n]);
        best = __reduce_max_sync(0xffffffff, best);
#pragma unroll
        for (int n = 0; n < kVectors * 8; ++n) key[n] = key[n] == best ? 0 : key[n];
        if (lane == k) chosen = best;
    }

    // Lane 0 has the largest logit of all; the denominator over all experts cancels.
    const float largest = __shfl_sync(0xffffffff, logit_of(chosen), 0);
    const float p = lane < K ? expf(logit_of(chosen) - largest) : 0;
    const float sum = warp_sum(p);
    if (lane < K) {
        index[static_cast<size_t>(row) * K + lane] = expert_of(chosen);
        weight[static_cast<size_t>(row) * K + lane] = __float2bfloat16(p / sum);
    }
}
