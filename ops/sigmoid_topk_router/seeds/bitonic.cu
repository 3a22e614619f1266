//! idea    WARPS warps a row sort lists of 32 experts and merge them, keeping 32: hardly slower for a large K
//! tune    WARPS = 1, 2, 4, 8
//! require K <= 32 && K <= E && 32*WARPS <= E
//! launch  router<<<T, 32*WARPS>>>(logits, bias, index, weight, scale)
constexpr int kLists = (E + 32 * WARPS - 1) / (32 * WARPS);  // lists of a warp

using Key = unsigned long long;  // ordered score, then the inverted expert: of equals the lower index is the larger key

__device__ float sigmoid(float v) { return 1 / (1 + expf(-v)); }

// Unsigned keys in the order of floats; 0 is below every key. Adding 0 makes -0 equal to 0.
__device__ unsigned ordered(float v) {
    const unsigned bits = __float_as_uint(v + 0.0f);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

__device__ float warp_sum(float v) {
#pragma unroll
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
    return v;
}

// The lists of a warp hold one key a lane. `settle` makes lane i's key the larger of its own and its partner's where
// keep_larger, else the smaller.
__device__ Key settle(Key key, int stride, bool keep_larger) {
    const Key other = __shfl_xor_sync(0xffffffff, key, stride);
    return (key > other) == keep_larger ? key : other;
}

// Bitonic sort of 32 keys, the largest in lane 0.
__device__ Key sorted(Key key, int lane) {
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
__device__ Key merged(Key a, Key b, int lane) {
    const Key reversed = __shfl_xor_sync(0xffffffff, b, 31);
    Key key = a > reversed ? a : reversed;
#pragma unroll
    for (int stride = 16; stride > 0; stride /= 2) key = settle(key, stride, (lane & stride) == 0);
    return key;
}

template <int N>
__device__ Key merged(Key (&list)[N], int lane) {
#pragma unroll
    for (int width = 1; width < N; width *= 2) {
#pragma unroll
        for (int j = 0; j + width < N; j += 2 * width) list[j] = merged(list[j], list[j + width], lane);
    }
    return list[0];
}

extern "C" __global__ void __launch_bounds__(32 * WARPS)
    router(const float* __restrict__ logits, const float* __restrict__ bias, int* index, float* weight, float scale) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    logits += static_cast<size_t>(blockIdx.x) * E;
    Key list[kLists];
#pragma unroll
    for (int j = 0; j < kLists; ++j) {
        const int e = (j * WARPS + warp) * 32 + lane;
        list[j] = e < E ? static_cast<Key>(ordered(sigmoid(logits[e]) + bias[e])) << 32 | ~static_cast<unsigned>(e) : 0;
    }
#pragma unroll
    for (int j = 0; j < kLists; ++j) list[j] = sorted(list[j], lane);
    Key key = merged(list, lane);
    if (WARPS > 1) {
        __shared__ Key best[WARPS][32];
        best[warp][lane] = key;
        __syncthreads();
        if (warp > 0) return;
        Key lists[WARPS];
#pragma unroll
        for (int j = 0; j < WARPS; ++j) lists[j] = best[j][lane];
        key = merged(lists, lane);
    }

    const int expert = ~static_cast<unsigned>(key);
    const float s = lane < K ? sigmoid(logits[expert]) : 0;
    const float sum = warp_sum(s);
    if (lane < K) {
        index[static_cast<size_t>(blockIdx.x) * K + lane] = expert;
        weight[static_cast<size_t>(blockIdx.x) * K + lane] = s / (sum + 1e-20f) * scale;
    }
}
