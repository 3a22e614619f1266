// Decoupled look-back: state and value of a tile travel in one word, so that no fence is needed.
//   launch: scan<<<8, 32>>>(x, state, y)
//   buffer: x:u32[256]=const(1)
//   buffer: state:u64[8]=zeros
//   buffer: y:u32[256]=zeros
//   clean
//   clean: VOLATILE
//   global_race: PLAIN
extern "C" __global__ void scan(const unsigned* x, unsigned long long* state, unsigned* y) {
    const int lane = threadIdx.x, tile = blockIdx.x;
    unsigned v = x[tile * 32 + lane];
    for (int d = 1; d < 32; d *= 2) {
        const unsigned o = __shfl_up_sync(~0u, v, d);
        if (lane >= d) v += o;
    }
    const unsigned total = __shfl_sync(~0u, v, 31);
    unsigned before = 0;
    if (lane == 0) {
        if (tile > 0) {
            unsigned long long seen;
            do {
#if defined(VOLATILE) || defined(PLAIN)
                seen = *(volatile unsigned long long*)(state + tile - 1);  // race
#else
                seen = atomicAdd(state + tile - 1, 0ull);
#endif
            } while (seen >> 32 == 0);
            before = (unsigned)seen;
        }
        const unsigned long long word = 1ull << 32 | (before + total);
#if defined(PLAIN)
        state[tile] = word;  // race
#elif defined(VOLATILE)
        *(volatile unsigned long long*)(state + tile) = word;
#else
        atomicExch(state + tile, word);
#endif
    }
    y[tile * 32 + lane] = v + __shfl_sync(~0u, before, 0);
}
