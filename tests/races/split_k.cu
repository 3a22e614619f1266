// Blocks add up parts of one tile in the order of a semaphore.
//   launch: split<<<4, 64>>>(x, c, semaphore)
//   buffer: x:f32[256]=iota
//   buffer: c:f32[64]=zeros
//   buffer: semaphore:i32[1]=zeros
//   clean
//   clean: ATOMIC
//   global_race: NO_SEMAPHORE
//   global_race: NO_FENCE
//   global_race: NO_BARRIER
extern "C" __global__ void split(const float* x, float* c, int* semaphore) {
    const int t = threadIdx.x, b = blockIdx.x;
    const float part = x[b * 64 + t] * 2;
#ifdef ATOMIC
    atomicAdd(c + t, part);
    return;
#endif
#ifndef NO_SEMAPHORE
    if (t == 0) {
        int seen;
        do asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(semaphore) : "memory");
        while (seen != b);
    }
    __syncthreads();
#endif
    c[t] += part;  // race
#ifndef NO_SEMAPHORE
#ifndef NO_BARRIER
    __syncthreads();
#endif
    if (t == 0) {
#ifdef NO_FENCE
        asm volatile("st.relaxed.gpu.global.s32 [%0], %1;" ::"l"(semaphore), "r"(b + 1) : "memory");
#else
        asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(semaphore), "r"(b + 1) : "memory");
#endif
    }
#endif
}
