//! task   nano30b_argmax
//! idea   one warp a row
//! launch argmax<<<T, 32>>>(logits, index)
extern "C" __global__ void argmax(const float* logits, int* index) {
    logits += static_cast<size_t>(blockIdx.x) * V;
    float best = logits[threadIdx.x];
    int at = threadIdx.x;
    for (int i = threadIdx.x + 32; i < V; i += 32) {
        const float v = logits[i];
        if (v > best) best = v, at = i;
    }
    for (int d = 16; d > 0; d /= 2) {
        const float other = __shfl_xor_sync(0xffffffff, best, d);
        const int other_at = __shfl_xor_sync(0xffffffff, at, d);
        if (other > best || (other == best && other_at < at)) best = other, at = other_at;
    }
    if (threadIdx.x == 0) index[blockIdx.x] = at;
}
