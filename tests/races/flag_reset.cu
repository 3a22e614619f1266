// A block waits for another one's flag and clears it with a plain store for the next launch: it has seen the flag.
//   launch: reset<<<2, 64>>>(flag, data, y)
//   buffer: flag:i32[2]=zeros
//   buffer: data:i32[64]=zeros
//   buffer: y:i32[64]=zeros
//   clean
//   clean: ATOMIC
//   clean: OTHER_THREAD
//   clean: COUNTER
//   global_race: OTHER_THREAD NO_BARRIER
//   global_race: EARLY
extern "C" __global__ void reset(int* flag, int* data, int* y) {
    const int t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = t;
        __syncthreads();
#ifdef COUNTER
        __threadfence();
        atomicAdd(flag, 1);
#else
        if (t == 0) {
            __threadfence();
            *(volatile int*)flag = 1;  // race
        }
#endif
    } else {
#ifdef EARLY
        if (t == 0) *flag = 0;  // race
#endif
        if (t == 0) {
#if defined(ATOMIC)
            while (atomicAdd(flag, 0) == 0) {
            }
#elif defined(COUNTER)
            while (*(volatile int*)flag < 64) {
            }
#else
            while (*(volatile int*)flag == 0) {  // race
            }
#endif
            __threadfence();
        }
#ifndef NO_BARRIER
        __syncthreads();
        y[t] = data[63 - t];
#endif
#ifdef OTHER_THREAD
        if (t == 32) *flag = 0;  // race
#else
        if (t == 0) *flag = 0;
#endif
    }
}
