//! launch argmax<<<T, 256>>>(logits, index)
// One block a row. Comparisons are of floats, so -0 equals 0.
constexpr int kThreads = 256;

struct Best {
    float value;
    int at;
};

// The better of two: the larger value, of equals the lower index. An index of V means none.
__device__ Best better(Best a, Best b) {
    if (b.at == V) return a;
    if (a.at == V || b.value > a.value || (b.value == a.value && b.at < a.at)) return b;
    return a;
}

extern "C" __global__ void argmax(const logits_t* logits, index_t* index) {
    __shared__ Best part[kThreads];
    logits += static_cast<long long>(blockIdx.x) * V;
    Best best = {0, V};
    for (int i = threadIdx.x; i < V; i += kThreads) best = better(best, Best{logits[i], i});
    part[threadIdx.x] = best;
    for (int n = kThreads / 2; n > 0; n /= 2) {
        __syncthreads();
        if (threadIdx.x < n) part[threadIdx.x] = better(part[threadIdx.x], part[threadIdx.x + n]);
    }
    if (threadIdx.x == 0) index[blockIdx.x] = part[0].at;
}
