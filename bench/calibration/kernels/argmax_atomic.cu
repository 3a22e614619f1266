//! task    nano30b_argmax
//! idea    each thread one logit: the best of PER joins by an atomic of 64 bits, a second launch takes the index
//! tune    LANES = 32, 1
//! scratch best : u64[T] zeroed
//! launch  search<<<(ceil_div(V, 256), T), 256>>>(logits, best)
//! launch  take<<<ceil_div(T, 32), 32>>>(best, index, T)
using Key = unsigned long long;

extern "C" __global__ void search(const float* logits, Key* best) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    Key key = 0;
    if (i < V) {
        const unsigned bits = __float_as_uint(logits[static_cast<size_t>(blockIdx.y) * V + i] + 0.0f);
        key = static_cast<Key>(bits & 0x80000000u ? ~bits : bits | 0x80000000u) << 32 | ~static_cast<unsigned>(i);
    }
    for (int d = LANES / 2; d > 0; d /= 2) {
        const Key other = __shfl_xor_sync(0xffffffff, key, d);
        if (other > key) key = other;
    }
    if (threadIdx.x % LANES == 0) atomicMax(&best[blockIdx.y], key);
}

extern "C" __global__ void take(const Key* best, int* index, int rows) {
    const int t = blockIdx.x * 32 + threadIdx.x;
    if (t < rows) index[t] = ~static_cast<unsigned>(best[t]);
}
