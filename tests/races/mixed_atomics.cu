// Atomics and plain accesses of one word.
//   launch: mixed<<<3, 32>>>(sum, y)
//   buffer: sum:i32[1]=zeros
//   buffer: y:i32[3]=zeros
//   clean
//   clean: VOLATILE_READ
//   global_race: PLAIN_READ
//   global_race: PLAIN_WRITE
//   global_race: PLAIN_FIRST
extern "C" __global__ void mixed(int* sum, int* y) {
#ifdef PLAIN_FIRST
    if (blockIdx.x == 1 && threadIdx.x == 0) *sum = 5;  // race
#endif
    atomicAdd(sum, 1);  // race
#ifdef PLAIN_WRITE
    if (blockIdx.x == 1 && threadIdx.x == 0) *sum = 5;  // race
#endif
    if (threadIdx.x == 0) {
#if defined(PLAIN_READ)
        y[blockIdx.x] = *sum;  // race
#elif defined(VOLATILE_READ)
        y[blockIdx.x] = *(volatile int*)sum;
#endif
    }
}
