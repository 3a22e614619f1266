// A tree of sums in shared memory; the last levels stay within a warp.
//   launch: reduce<<<2, 128>>>(x, y)
//   buffer: x:i32[256]=iota
//   buffer: y:i32[2]=zeros
//   clean
//   clean: WARP_TAIL
//   shared_race: NO_BARRIER
//   shared_race: WARP_TAIL NO_SYNCWARP
extern "C" __global__ void reduce(const int* x, int* y) {
    __shared__ int sum[128];
    const int t = threadIdx.x;
    sum[t] = x[blockIdx.x * 128 + t];
    __syncthreads();
#ifdef WARP_TAIL
    for (int d = 64; d > 16; d /= 2) {
#else
    for (int d = 64; d > 0; d /= 2) {
#endif
        if (t < d) sum[t] += sum[t + d];  // race
#ifndef NO_BARRIER
        __syncthreads();
#endif
    }
#ifdef WARP_TAIL
    if (t < 32)
        for (int d = 16; d > 0; d /= 2) {
            const int other = sum[t + d];  // race
#ifndef NO_SYNCWARP
            __syncwarp();
#endif
            sum[t] += other;  // race
#ifndef NO_SYNCWARP
            __syncwarp();
#endif
        }
#endif
    if (t == 0) y[blockIdx.x] = sum[0];
}
