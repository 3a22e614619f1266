//! task    nano30b_router_topk
//! idea    one warp a row, a lane holds E/32 neighbouring experts: a round is one redux and one ballot; sigmoids stay in registers and follow by shuffle beside the rounds, so nothing is read or summed afterwards
//! tune    ROWS = 4
//! require E % 128 == 0 && K <= 32 && K <= E
//! launch  router<<<ceil_div(T, ROWS), 32*ROWS>>>(logits, bias, index, weight, scale, T)
constexpr int kPer = E / 32;  // experts of a lane

// Unsigned keys in the order of floats; 0 is below every key. Adding 0 makes -0 equal to 0.
__device__ unsigned ordered(float v) {
    const unsigned bits = __float_as_uint(v + 0.0f);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

extern "C" __global__ void __launch_bounds__(32 * ROWS)
    router(const float4* __restrict__ logits, const float4* __restrict__ bias, int* __restrict__ index,
           float* __restrict__ weight, float scale, int rows) {
    const int row = blockIdx.x * ROWS + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    logits += static_cast<size_t>(row) * (E / 4) + lane * (kPer / 4);
    bias += lane * (kPer / 4);
    float s[kPer];
    unsigned key[kPer];
#pragma unroll
    for (int j = 0; j < kPer / 4; ++j) {
        const float4 l = logits[j], b = bias[j];
        const float from[4] = {l.x, l.y, l.z, l.w}, plus[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            s[4 * j + e] = 1 / (1 + expf(-from[e]));
            key[4 * j + e] = ordered(s[4 * j + e] + plus[e]);
        }
    }

    float sum = 0, kept = 0;
    int chosen = 0;  // lane k keeps the k-th choice
#pragma unroll
    for (int k = 0; k < K; ++k) {
        unsigned best = key[0];
        int at = 0;
        float own = s[0];
#pragma unroll
        for (int n = 1; n < kPer; ++n) {
            if (key[n] > best) best = key[n], at = n, own = s[n];
        }
        const unsigned winner = __reduce_max_sync(0xffffffffu, best);
        const int from = __ffs(__ballot_sync(0xffffffffu, best == winner)) - 1;  // of equals the lowest lane: the lowest index
#pragma unroll
        for (int n = 0; n < kPer; ++n) {
            if (lane == from && at == n) key[n] = 0;
        }
        const float won = __shfl_sync(0xffffffffu, own, from);
        const int place = __shfl_sync(0xffffffffu, at, from);
        sum += won;
        if (lane == k) kept = won, chosen = from * kPer + place;
    }
    if (lane < K) {
        index[static_cast<size_t>(row) * K + lane] = chosen;
        weight[static_cast<size_t>(row) * K + lane] = kept / (sum + 1e-20f) * scale;
    }
}
