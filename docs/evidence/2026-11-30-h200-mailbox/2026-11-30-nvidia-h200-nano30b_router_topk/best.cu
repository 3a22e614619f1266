//! task    nano30b_router_topk
//! idea    one warp a row, scores in registers as ordered integers: a round is a lane's best and two redux
//! tune    ROWS = 4
//! require E % 4 == 0 && K <= 32 && K <= E
//! launch  router<<<ceil_div(T, ROWS), 32*ROWS>>>(logits, bias, index, weight, scale, T)
constexpr int kQuads = (E / 4 + 31) / 32;  // 16-byte vectors of a lane; vector j of a lane is the row's 32*j + lane

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

extern "C" __global__ void __launch_bounds__(32 * ROWS)
    router(const float* __restrict__ logits, const float* __restrict__ bias, int* index, float* weight, float scale,
           int rows) {
    const int row = blockIdx.x * ROWS + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    logits += static_cast<size_t>(row) * E;
    unsigned key[kQuads * 4];
#pragma unroll
    for (int j = 0; j < kQuads; ++j) {
        const int quad = j * 32 + lane;
        const bool inside = quad < E / 4;
        const float4 l = inside ? reinterpret_cast<const float4*>(logits)[quad] : make_float4(0, 0, 0, 0);
        const float4 b = inside ? reinterpret_cast<const float4*>(bias)[quad] : make_float4(0, 0, 0, 0);
        key[4 * j] = inside ? ordered(sigmoid(l.x) + b.x) : 0;
        key[4 * j + 1] = inside ? ordered(sigmoid(l.y) + b.y) : 0;
        key[4 * j + 2] = inside ? ordered(sigmoid(l.z) + b.z) : 0;
        key[4 * j + 3] = inside ? ordered(sigmoid(l.w) + b.w) : 0;
    }

    int chosen = 0;  // lane k keeps the k-th choice
#pragma unroll 1
    for (int k = 0; k < K; ++k) {
        unsigned best = 0;
#pragma unroll
        for (int n = 0; n < kQuads * 4; ++n) best = max(best, key[n]);
        const unsigned winner = __reduce_max_sync(0xffffffff, best);
        unsigned at = E;
#pragma unroll
        for (int n = kQuads * 4 - 1; n >= 0; --n) {
            if (key[n] == winner) at = (n / 4 * 32 + lane) * 4 + n % 4;
        }
        at = __reduce_min_sync(0xffffffff, at);
#pragma unroll
        for (int n = 0; n < kQuads * 4; ++n) {
            if (at == (n / 4 * 32 + lane) * 4 + n % 4) key[n] = 0;
        }
        if (lane == k) chosen = at;
    }

    const float s = lane < K ? sigmoid(logits[chosen]) : 0;
    const float sum = warp_sum(s);
    if (lane < K) {
        index[static_cast<size_t>(row) * K + lane] = chosen;
        weight[static_cast<size_t>(row) * K + lane] = s / (sum + 1e-20f) * scale;
    }
}
