//! idea   one block a row: scores in shared memory, then K rounds in which the block finds the best expert left
//! launch router<<<T, 128>>>(logits, bias, index, weight, scale)
constexpr int kThreads = 128;

__device__ float sigmoid(float v) { return 1 / (1 + expf(-v)); }

extern "C" __global__ void __launch_bounds__(kThreads)
    router(const float* logits, const float* bias, int* index, float* weight, float scale) {
    __shared__ float score[E], value[kThreads];
    __shared__ int place[kThreads], chosen[K];
    __shared__ bool taken[E];
    logits += static_cast<size_t>(blockIdx.x) * E;
    for (int e = threadIdx.x; e < E; e += kThreads) {
        score[e] = sigmoid(logits[e]) + bias[e];
        taken[e] = false;
    }
    __syncthreads();

    for (int k = 0; k < K; ++k) {
        float best = -1e38f;
        int at = E;
        for (int e = threadIdx.x; e < E; e += kThreads) {
            if (!taken[e] && (at == E || score[e] > best)) best = score[e], at = e;
        }
        value[threadIdx.x] = best;
        place[threadIdx.x] = at;
        for (int n = kThreads / 2; n > 0; n /= 2) {
            __syncthreads();
            if (threadIdx.x >= n) continue;
            const float other = value[threadIdx.x + n];
            const int other_at = place[threadIdx.x + n];
            if (other_at < E && (place[threadIdx.x] == E || other > value[threadIdx.x] ||
                                 (other == value[threadIdx.x] && other_at < place[threadIdx.x]))) {
                value[threadIdx.x] = other;
                place[threadIdx.x] = other_at;
            }
        }
        if (threadIdx.x == 0) {
            chosen[k] = place[0];
            taken[place[0]] = true;
        }
        __syncthreads();
    }

    float sum = 0;
    for (int k = 0; k < K; ++k) sum += sigmoid(logits[chosen[k]]);
    for (int k = threadIdx.x; k < K; k += kThreads) {
        index[static_cast<size_t>(blockIdx.x) * K + k] = chosen[k];
        weight[static_cast<size_t>(blockIdx.x) * K + k] = sigmoid(logits[chosen[k]]) / (sum + 1e-20f) * scale;
    }
}
