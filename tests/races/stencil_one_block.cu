// A stencil in place within one block.
//   launch: smooth<<<1, 128>>>(x)
//   buffer: x:f32[128]=iota
//   clean
//   global_race: NO_BARRIER
//   global_race: NO_BARRIER_BETWEEN_STEPS
extern "C" __global__ void smooth(float* x) {
    const int i = threadIdx.x;
    for (int step = 0; step < 3; ++step) {
        const float v = x[i] + x[i < 127 ? i + 1 : 0];  // race
#ifndef NO_BARRIER
        __syncthreads();
#endif
        x[i] = v;  // race
#ifndef NO_BARRIER_BETWEEN_STEPS
        __syncthreads();
#endif
    }
}
