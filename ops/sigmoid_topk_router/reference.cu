//! launch score_experts<<<T, 128>>>(logits, bias, score)
//! launch choose<<<T, 32>>>(score, index)
//! launch weigh<<<T, K>>>(logits, index, weight, scale)
// Three steps: the score of every expert, the choice, the weights of whatever was chosen.
#include <math_constants.h>

__device__ double sigmoid(double v) { return 1 / (1 + exp(-v)); }

extern "C" __global__ void score_experts(const logits_t* logits, const bias_t* bias, double* score) {
    const long long row = static_cast<long long>(blockIdx.x) * E;
    for (int e = threadIdx.x; e < E; e += 128) score[row + e] = sigmoid(logits[row + e]) + bias[e];
}

// One warp a row, K rounds: the best score among those that come after the last chosen in the order of choice (falling
// score, of equals the lower index first).
extern "C" __global__ void choose(const double* score, int* index) {
    const int lane = threadIdx.x;
    score += static_cast<long long>(blockIdx.x) * E;
    double last = CUDART_INF;
    int last_at = -1;
    for (int k = 0; k < K; ++k) {
        double best = -CUDART_INF;
        int at = E;
        for (int e = lane; e < E; e += 32) {
            const double s = score[e];
            const bool behind = s < last || (s == last && e > last_at);
            if (behind && (at == E || s > best)) best = s, at = e;
        }
        for (int d = 16; d > 0; d /= 2) {
            const double other = __shfl_xor_sync(0xffffffff, best, d);
            const int other_at = __shfl_xor_sync(0xffffffff, at, d);
            if (other_at < E && (at == E || other > best || (other == best && other_at < at)))
                best = other, at = other_at;
        }
        if (lane == 0) index[static_cast<long long>(blockIdx.x) * K + k] = at;
        last = best, last_at = at;
    }
}

// One thread a chosen expert; the bias has no part in a weight.
extern "C" __global__ void weigh(const logits_t* logits, const int* index, weight_t* weight, float scale) {
    const long long row = static_cast<long long>(blockIdx.x) * E, chosen = static_cast<long long>(blockIdx.x) * K;
    double sum = 0;
    for (int k = 0; k < K; ++k) sum += sigmoid(logits[row + index[chosen + k]]);
    const double own = sigmoid(logits[row + index[chosen + threadIdx.x]]);
    weight[chosen + threadIdx.x] = static_cast<weight_t>(own / (sum + 1e-20) * scale);
}
