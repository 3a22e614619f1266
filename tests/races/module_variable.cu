// A variable of the module is global memory too.
//   launch: count<<<2, 32>>>(y)
//   buffer: y:i32[2]=zeros
//   clean
//   global_race: PLAIN
__device__ int total;
extern "C" __global__ void count(int* y) {
    if (threadIdx.x != 0) return;
#ifdef PLAIN
    total += blockIdx.x + 1;  // race
#else
    atomicAdd(&total, 1);
#endif
    y[blockIdx.x] = 1;
}
