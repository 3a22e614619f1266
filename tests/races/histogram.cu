// All blocks count into one histogram.
//   launch: count<<<4, 64>>>(x, bins)
//   buffer: x:i32[256]=iota
//   buffer: bins:i32[16]=zeros
//   clean
//   global_race: PLAIN
extern "C" __global__ void count(const int* x, int* bins) {
    const int bin = x[blockIdx.x * 64 + threadIdx.x] * 7 % 16;
#ifdef PLAIN
    bins[bin] += 1;  // race
#else
    atomicAdd(bins + bin, 1);
#endif
}
