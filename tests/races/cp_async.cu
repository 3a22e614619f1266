// A copy to shared memory reads global memory that its neighbour block writes.
//   launch: stage<<<2, 32>>>(x, y)
//   buffer: x:f32[64]=iota
//   buffer: y:f32[64]=zeros
//   clean
//   global_race: NEIGHBOUR
#include <cuda_pipeline.h>
extern "C" __global__ void stage(float* x, float* y) {
    __shared__ float tile[32];
    const int t = threadIdx.x, i = blockIdx.x * 32 + t;
#ifdef NEIGHBOUR
    const int from = (i + 32) % 64;
#else
    const int from = i;
#endif
    __pipeline_memcpy_async(tile + t, x + from, 4);  // race
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    y[i] = tile[31 - t];
    x[i] = 1;  // race
}
