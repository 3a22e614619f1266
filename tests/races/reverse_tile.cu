// A block reverses a tile through shared memory.
//   launch: reverse<<<2, 64>>>(x, y)
//   buffer: x:i32[128]=iota
//   buffer: y:i32[128]=zeros
//   clean
//   clean: NEEDLESS
//   shared_race: NO_BARRIER
extern "C" __global__ void reverse(const int* x, int* y) {
    __shared__ int tile[64];
    const int t = threadIdx.x, base = blockIdx.x * 64;
    tile[t] = x[base + t];  // race
#ifdef NEEDLESS
    __syncthreads();
#endif
#ifndef NO_BARRIER
    __syncthreads();
#endif
    y[base + t] = tile[63 - t];  // race
}
