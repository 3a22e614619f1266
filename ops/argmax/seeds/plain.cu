//! idea   one block a row, one element at a time, then a tree in shared memory
//! launch argmax<<<T, 512>>>(logits, index)
constexpr int kThreads = 512;

extern "C" __global__ void __launch_bounds__(kThreads) argmax(const float* logits, int* index) {
    __shared__ float value[kThreads];
    __shared__ int place[kThreads];
    logits += static_cast<size_t>(blockIdx.x) * V;
    float best = 0;
    int at = V;
    for (int i = threadIdx.x; i < V; i += kThreads) {
        const float v = logits[i];
        if (at == V || v > best) best = v, at = i;
    }
    value[threadIdx.x] = best;
    place[threadIdx.x] = at;
    for (int n = kThreads / 2; n > 0; n /= 2) {
        __syncthreads();
        if (threadIdx.x >= n) continue;
        const float other = value[threadIdx.x + n];
        const int other_at = place[threadIdx.x + n];
        if (other_at < V && (place[threadIdx.x] == V || other > value[threadIdx.x] ||
                             (other == value[threadIdx.x] && other_at < place[threadIdx.x]))) {
            value[threadIdx.x] = other;
            place[threadIdx.x] = other_at;
        }
    }
    if (threadIdx.x == 0) index[blockIdx.x] = place[0];
}
