// Warps reduce by shuffles and hand their sums to the first one.
//   launch: reduce<<<2, 256>>>(x, y)
//   buffer: x:i32[512]=iota
//   buffer: y:i32[2]=zeros
//   clean
//   shared_race: NO_BARRIER
extern "C" __global__ void reduce(const int* x, int* y) {
    __shared__ int partial[8];
    const int t = threadIdx.x;
    int v = x[blockIdx.x * 256 + t];
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);
#ifdef NO_BARRIER
    if (t < 8) partial[t] = 0;  // race
#else
    __syncthreads();
#endif
    if (t % 32 == 0) partial[t / 32] = v;  // race
#ifndef NO_BARRIER
    __syncthreads();
#endif
    if (t == 0) {
        int sum = 0;
        for (int i = 0; i < 8; ++i) sum += partial[i];  // race
        y[blockIdx.x] = sum;
    }
}
