// Two halves of a block synchronise by barriers of their own.
//   launch: halves<<<1, 128>>>(x)
//   buffer: x:i32[128]=iota
//   clean
//   global_race: ACROSS
//   clean: ACROSS BLOCK_BARRIER
extern "C" __global__ void halves(int* x) {
    const int t = threadIdx.x, half = t / 64;
    x[t] += 1;  // race
    asm volatile("bar.sync %0, 64;" ::"r"(half + 1) : "memory");
#ifdef BLOCK_BARRIER
    __syncthreads();
#endif
#ifdef ACROSS
    const int v = x[127 - t];  // race
#else
    const int v = x[half * 64 + (63 - t % 64)];
#endif
    __syncthreads();
    x[t] = v;
}
