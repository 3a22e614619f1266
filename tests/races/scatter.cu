// Where a thread writes comes from data.
//   launch: scatter<<<4, 32>>>(index, x, y)
//   buffer: index:i64[128]=iota
//   buffer: x:f32[128]=iota
//   buffer: y:f32[128]=zeros
//   clean
//   global_race: COLLIDING
extern "C" __global__ void scatter(const long long* index, const float* x, float* y) {
    const int i = blockIdx.x * 32 + threadIdx.x;
#ifdef COLLIDING
    const long long at = index[i] * 2 % 128;
#else
    const long long at = index[i] * 5 % 128;
#endif
    y[at] = x[i];  // race
}
