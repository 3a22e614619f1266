// A flag in shared memory, read and cleared plainly by who has seen it.
//   launch: word<<<2, 64>>>(y)
//   buffer: y:i32[4]=zeros
//   clean
//   clean: FENCES
//   shared_race: NO_WAIT
//   shared_race: OTHER_THREAD
extern "C" __global__ void word(int* y) {
    __shared__ int flag;
    const unsigned at = (unsigned)__cvta_generic_to_shared(&flag);
    int seen = 0;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == 1) {
#ifdef FENCES
        __threadfence_block();
        *(volatile int*)&flag = 2;
#else
        asm volatile("st.release.cta.shared.u32 [%0], 2;" ::"r"(at) : "memory");  // race
#endif
    }
    if (threadIdx.x == 32) {
#ifndef NO_WAIT
        do {
#ifdef FENCES
            seen = *(volatile int*)&flag;
#else
            asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(seen) : "r"(at) : "memory");  // race
#endif
        } while (seen != 2);
#endif
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(seen) : "r"(at) : "memory");  // race
        y[2 * blockIdx.x] = seen;
        flag = 0;  // race
    }
#ifdef OTHER_THREAD
    if (threadIdx.x == 2) y[2 * blockIdx.x + 1] = flag;  // race
#endif
}
