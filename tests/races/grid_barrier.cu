// A barrier of all blocks, written by hand: a counter and a volatile spin.
//   launch: rounds<<<4, 64>>>(count, x)
//   buffer: count:u32[1]=zeros
//   buffer: x:i32[256]=iota
//   clean
//   global_race: NO_BARRIER
//   global_race: NO_FENCES
//   global_race: NO_BLOCK_BARRIER
//   global_race: NO_READER_FENCE
__device__ void meet(unsigned* count, unsigned goal) {
#ifndef NO_BLOCK_BARRIER
    __syncthreads();
#endif
    if (threadIdx.x == 0) {
#ifndef NO_FENCES
        __threadfence();
#endif
        atomicAdd(count, 1);
        while (*(volatile unsigned*)count < goal) {}
#if !defined(NO_FENCES) && !defined(NO_READER_FENCE)
        __threadfence();
#endif
    }
    __syncthreads();
}
extern "C" __global__ void rounds(unsigned* count, int* x) {
    const int i = blockIdx.x * 64 + threadIdx.x;
    for (unsigned round = 0; round < 3; ++round) {
        const int v = x[255 - i] + x[(i + 65) % 256];  // race
#ifndef NO_BARRIER
        meet(count, gridDim.x * (2 * round + 1));
#endif
        x[i] = v;  // race
#ifndef NO_BARRIER
        meet(count, gridDim.x * (2 * round + 2));
#endif
    }
}
