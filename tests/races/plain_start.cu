// A counter in shared memory that one thread sets before all count, in two rounds.
//   launch: count<<<2, 64>>>(y)
//   buffer: y:i32[2]=zeros
//   clean
//   clean: WARP
//   shared_race: NO_BARRIER
//   shared_race: NO_BARRIER EXCHANGE
//   shared_race: LATE
extern "C" __global__ void count(int* y) {
    __shared__ int n;
#ifdef WARP
    if (threadIdx.x >= 32) return;
#endif
    if (threadIdx.x == 0) n = 1;
    __syncthreads();
    if (threadIdx.x == 0) n = 0;  // race: NO_BARRIER
#if defined(WARP)
    __syncwarp();
#elif !defined(NO_BARRIER)
    __syncthreads();
#endif
#ifdef LATE
    if (threadIdx.x == 40) n = 5;  // race: LATE
#endif
#ifdef EXCHANGE
    atomicExch(&n, 1);  // race
#else
    atomicAdd(&n, 1);  // race
#endif
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = n;
}
