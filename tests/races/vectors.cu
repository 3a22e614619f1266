// Wide and narrow accesses of one buffer.
//   launch: mixed<<<2, 32>>>(x)
//   buffer: x:f32[256]=iota
//   clean
//   global_race: OVERLAP
extern "C" __global__ void mixed(float* x) {
    const int t = threadIdx.x;
    if (blockIdx.x == 0) {
        ((float4*)x)[t] = make_float4(t, t + 1, t + 2, t + 3);  // race
    } else {
#ifdef OVERLAP
        x[127 + t] = -t;  // race
#else
        x[128 + t] = -t;
#endif
    }
}
