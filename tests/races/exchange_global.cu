// Threads of a block exchange through global memory.
//   launch: exchange<<<4, 64>>>(x, y)
//   buffer: x:i32[256]=zeros
//   buffer: y:i32[256]=zeros
//   clean
//   global_race: NO_BARRIER
//   clean: SYNC_COUNT
extern "C" __global__ void exchange(int* x, int* y) {
    const int t = threadIdx.x, base = blockIdx.x * 64;
    x[base + t] = t;  // race
#if defined(SYNC_COUNT)
    if (__syncthreads_count(t < 3) != 3) return;
#elif !defined(NO_BARRIER)
    __syncthreads();
#endif
    y[base + t] = x[base + 63 - t];  // race
}
