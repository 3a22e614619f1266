// Producer and consumer warps with two numbered barriers.
//   launch: pipe<<<1, 64>>>(y)
//   buffer: y:i32[96]=zeros
//   clean
//   shared_race: NO_EMPTY
//   shared_race: NO_FULL
extern "C" __global__ void pipe(int* y) {
    __shared__ int slot[32];
    const int lane = threadIdx.x % 32;
    slot[lane] = 0;
    __syncthreads();
    for (int round = 0; round < 3; ++round)
        if (threadIdx.x < 32) {
#ifndef NO_EMPTY
            if (round > 0) asm volatile("bar.sync 2, 64;" ::: "memory");
#endif
            slot[lane] = round * 100 + lane;  // race
#if defined(NO_EMPTY)
            asm volatile("bar.sync 1, 64;" ::: "memory");
#elif !defined(NO_FULL)
            asm volatile("bar.arrive 1, 64;" ::: "memory");
#endif
        } else {
#ifndef NO_FULL
            asm volatile("bar.sync 1, 64;" ::: "memory");
#endif
            y[round * 32 + lane] = slot[31 - lane];  // race
#ifndef NO_EMPTY
            if (round < 2) asm volatile("bar.arrive 2, 64;" ::: "memory");
#endif
        }
}
