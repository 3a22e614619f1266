// All add to a counter, and one looks at it without having waited for the others.
//   launch: add<<<2, 64>>>(sum, y)
//   buffer: sum:i32[1]=zeros
//   buffer: y:i32[2]=zeros
//   clean: LAST_BLOCK
//   clean: LAST_THREAD
//   global_race
//   global_race: PLAIN_CLEAR
//   shared_race: SHARED
extern "C" __global__ void add(int* sum, int* y) {
#if defined(SHARED)
    __shared__ int n;
    if (threadIdx.x == 0) n = 0;
    __syncthreads();
    atomicAdd(&n, 1);                             // race
    if (threadIdx.x == 63) y[blockIdx.x] = n;     // race
#elif defined(LAST_BLOCK)
    if (threadIdx.x == 0 && atomicAdd(sum, 1) == 1) y[0] = *sum, *sum = 0;
#elif defined(LAST_THREAD)
    if (atomicAdd(sum, 1) == 127) y[0] = *sum, *sum = 0;
#else
    atomicAdd(sum, 1);  // race
    if (blockIdx.x == 1 && threadIdx.x == 63) {
#ifdef PLAIN_CLEAR
        *sum = 0;  // race
#else
        y[0] = *sum;  // race
#endif
    }
#endif
}
