//! launch argmax<<<T, 256>>>(logits, index)

// Equal logits: the lower index wins.
extern "C" __global__ void __launch_bounds__(256) argmax(const float* logits, int* index)
{
    __shared__ float top[256];
    __shared__ int place[256];
    logits += blockIdx.x * (long long)V;
    float best = logits[threadIdx.x];
    int at = threadIdx.x;
    for (int i = threadIdx.x + 256; i < V; i += 256)
        if (logits[i] > best) {
            best = logits[i];
            at = i;
        }
    top[threadIdx.x] = best;
    place[threadIdx.x] = at;
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    for (int t = 1; t < 256; ++t)
        if (top[t] > best || (top[t] == best && place[t] < at)) {
            best = top[t];
            at = place[t];
        }
    index[blockIdx.x] = at;
}
