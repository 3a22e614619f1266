//! launch router<<<T, 32>>>(logits, bias, index, weight, scale)

// One warp a token, one lane an expert; equal scores: the lower expert wins.
extern "C" __global__ void __launch_bounds__(32)
router(const float* logits, const float* bias, int* index, float* weight, float scale)
{
    static_assert(E == 32);
    const int lane = threadIdx.x;
    const float gate = 1.0f / (1.0f + expf(-logits[blockIdx.x * E + lane]));
    float score = gate + bias[lane];
    bool taken = false;
    float sum = 0.0f, mine = 0.0f;
    int chosen = 0;
    for (int k = 0; k < K; ++k) {
        float best = taken ? -3e38f : score;
        int at = lane;
        for (int step = 16; step > 0; step /= 2) {
            const float other = __shfl_xor_sync(0xffffffffu, best, step);
            const int other_at = __shfl_xor_sync(0xffffffffu, at, step);
            if (other > best || (other == best && other_at < at)) {
                best = other;
                at = other_at;
            }
        }
        if (lane == at)
            taken = true;
        const float gate_of_best = __shfl_sync(0xffffffffu, gate, at);
        sum += gate_of_best;
        if (lane == k) {
            chosen = at;
            mine = gate_of_best;
        }
    }
    if (lane < K) {
        index[blockIdx.x * K + lane] = chosen;
        weight[blockIdx.x * K + lane] = mine / (sum + 1e-20f) * scale;
    }
}
