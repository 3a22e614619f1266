//! idea   one block a row: logits in shared memory, then K rounds in which the block finds the best expert left
//! launch router<<<T, 128>>>(logits, index, weight)
#include <cuda_bf16.h>

constexpr int kThreads = 128;

extern "C" __global__ void __launch_bounds__(kThreads)
    router(const __nv_bfloat16* logits, int* index, __nv_bfloat16* weight) {
    __shared__ float score[E], value[kThreads];
    __shared__ int place[kThreads], chosen[K];
    __shared__ bool taken[E];
    logits += static_cast<size_t>(blockIdx.x) * E;
    for (int e = threadIdx.x; e < E; e += kThreads) {
        score[e] = __bfloat162float(logits[e]);
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

    // The first chosen has the largest logit of all.
    const float largest = score[chosen[0]];
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += expf(score[chosen[k]] - largest);
    for (int k = threadIdx.x; k < K; k += kThreads) {
        index[static_cast<size_t>(blockIdx.x) * K + k] = chosen[k];
        weight[static_cast<size_t>(blockIdx.x) * K + k] = __float2bfloat16(expf(score[chosen[k]] - largest) / sum);
    }
}
