// A scan in shared memory in place: every step reads, then writes.
//   launch: scan<<<1, 128>>>(x)
//   buffer: x:i32[128]=const(1)
//   clean
//   shared_race: NO_BARRIER_BETWEEN
//   shared_race: NO_BARRIER_BEHIND
extern "C" __global__ void scan(int* x) {
    __shared__ int sum[128];
    const int t = threadIdx.x;
    sum[t] = x[t];
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        const int other = t >= d ? sum[t - d] : 0;  // race
#ifndef NO_BARRIER_BETWEEN
        __syncthreads();
#endif
        sum[t] += other;  // race
#ifndef NO_BARRIER_BEHIND
        __syncthreads();
#endif
    }
    x[t] = sum[t];
}
