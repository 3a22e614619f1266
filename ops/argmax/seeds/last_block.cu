//! idea    SPLITS blocks a row in one launch: each leaves its best and counts itself, the last to come joins them
//! tune    SPLITS = 32, 8, 64, 2
//! tune    BLOCK = 256, 512
//! tune    UNROLL = 4, 2, 8
//! require V % 4 == 0 && SPLITS <= BLOCK
//! scratch best : u64[T, SPLITS]
//! scratch arrived : u32[T] zeroed
//! launch  argmax<<<(SPLITS, T), BLOCK>>>(logits, best, arrived, index)
using Key = unsigned long long;  // ordered value, then the inverted index: of equals the lower index is the larger key

// Unsigned keys in the order of floats; 0 is below every key. Adding 0 makes -0 equal to 0.
__device__ unsigned ordered(float v) {
    const unsigned bits = __float_as_uint(v + 0.0f);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

__device__ Key larger(Key a, Key b) { return a > b ? a : b; }

// The best of the vectors first, first + step and so on, as a key; 0 where there are none.
__device__ Key scan(const float4* __restrict__ row, int first, int step) {
    float best = 0;
    int at = V;
    for (int i = first; i < V / 4; i += step * UNROLL) {
        float4 held[UNROLL];
#pragma unroll
        for (int j = 0; j < UNROLL; ++j) {
            if (i + j * step < V / 4) held[j] = row[i + j * step];
        }
#pragma unroll
        for (int j = 0; j < UNROLL; ++j) {
            if (i + j * step >= V / 4) break;
            const float v[4] = {held[j].x, held[j].y, held[j].z, held[j].w};
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                if (at == V || v[e] > best) best = v[e], at = (i + j * step) * 4 + e;
            }
        }
    }
    return at == V ? 0 : static_cast<Key>(ordered(best)) << 32 | ~static_cast<unsigned>(at);
}

// The largest key of the block, in thread 0. The barrier at its end lets it be used again.
__device__ Key block_max(Key key) {
    __shared__ Key part[BLOCK / 32];
#pragma unroll
    for (int d = 16; d > 0; d /= 2) key = larger(key, __shfl_xor_sync(0xffffffff, key, d));
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = key;
    __syncthreads();
    if (threadIdx.x < 32) {
        key = threadIdx.x < BLOCK / 32 ? part[threadIdx.x] : 0;
#pragma unroll
        for (int d = 16; d > 0; d /= 2) key = larger(key, __shfl_xor_sync(0xffffffff, key, d));
    }
    __syncthreads();
    return key;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    argmax(const float4* __restrict__ logits, Key* best, unsigned* arrived, int* index) {
    __shared__ bool last;
    const float4* row = logits + static_cast<size_t>(blockIdx.y) * (V / 4);
    best += static_cast<size_t>(blockIdx.y) * SPLITS;
    const Key key = block_max(scan(row, blockIdx.x * BLOCK + threadIdx.x, SPLITS * BLOCK));
    if (threadIdx.x == 0) {
        best[blockIdx.x] = key;
        __threadfence();  // the key is there before its block counts
        last = atomicAdd(&arrived[blockIdx.y], 1) == SPLITS - 1;
        __threadfence();  // and the others' keys are read after they counted
    }
    __syncthreads();
    if (!last) return;
    const Key winner = block_max(threadIdx.x < SPLITS ? best[threadIdx.x] : 0);
    if (threadIdx.x == 0) index[blockIdx.y] = ~static_cast<unsigned>(winner);
}
