// One step of a stencil over all blocks.
//   launch: smooth<<<4, 64>>>(x, y)
//   buffer: x:f32[256]=iota
//   buffer: y:f32[256]=zeros
//   clean
//   global_race: IN_PLACE
//   global_race: TWO_STEPS
extern "C" __global__ void smooth(float* x, float* y) {
    const int i = blockIdx.x * 64 + threadIdx.x;
    const float left = i > 0 ? x[i - 1] : 0, right = i < 255 ? x[i + 1] : 0;  // race
    __syncthreads();
#ifdef IN_PLACE
    x[i] = (left + right) / 2;  // race: IN_PLACE
#else
    y[i] = (left + right) / 2;
#endif
#ifdef TWO_STEPS
    __syncthreads();
    x[i] = y[i > 0 ? i - 1 : 0];  // race: TWO_STEPS
#endif
}
