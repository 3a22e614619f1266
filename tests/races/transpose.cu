// A matrix is transposed; in place two blocks hold each other's tiles.
//   launch: transpose<<<(2,2,1), (16,16,1)>>>(x, y)
//   buffer: x:f32[1024]=iota
//   buffer: y:f32[1024]=zeros
//   clean
//   clean: PAIRS
//   global_race: IN_PLACE
extern "C" __global__ void transpose(float* x, float* y) {
    const int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
#if defined(PAIRS)
    if (r < c) {
        const float v = x[r * 32 + c];
        x[r * 32 + c] = x[c * 32 + r];
        x[c * 32 + r] = v;
    }
#elif defined(IN_PLACE)
    const float v = x[r * 32 + c];  // race
    __syncthreads();
    x[c * 32 + r] = v;  // race
#else
    y[c * 32 + r] = x[r * 32 + c];
#endif
}
