// Each block counts in shared memory, then adds to the histogram of all.
//   launch: count<<<4, 96>>>(x, bins)
//   buffer: x:i32[384]=iota
//   buffer: bins:i32[64]=zeros
//   clean
//   shared_race: NOT_CLEARED_IN_TIME
//   shared_race: READ_TOO_EARLY
//   shared_race: PLAIN
//   global_race: PLAIN_SUM
extern "C" __global__ void count(const int* x, int* bins) {
    __shared__ int own[64];
    const int t = threadIdx.x;
    if (t >= 32) own[t - 32] = t;
    __syncthreads();
    if (t >= 32) own[t - 32] = 0;  // race: NOT_CLEARED_IN_TIME
#ifndef NOT_CLEARED_IN_TIME
    __syncthreads();
#endif
    const int bin = x[blockIdx.x * 96 + t] * 37 % 64;
#ifdef PLAIN
    own[bin] += 1;  // race: PLAIN
#else
    atomicAdd(own + bin, 1);  // race: NOT_CLEARED_IN_TIME READ_TOO_EARLY
#endif
#ifndef READ_TOO_EARLY
    __syncthreads();
#endif
    if (t < 64)
#ifdef PLAIN_SUM
        bins[t] += own[t];  // race: PLAIN_SUM
#else
        atomicAdd(bins + t, own[t]);  // race: READ_TOO_EARLY
#endif
}
