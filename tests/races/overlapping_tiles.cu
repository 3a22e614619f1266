// Each block writes a tile; one too many overlaps with the next block's.
//   launch: tiles<<<4, 64>>>(y)
//   buffer: y:i32[257]=zeros
//   clean
//   global_race: OFF_BY_ONE
extern "C" __global__ void tiles(int* y) {
#ifdef OFF_BY_ONE
    const int last = 65;
#else
    const int last = 64;
#endif
    for (int i = threadIdx.x; i < last; i += 64) y[blockIdx.x * 64 + i] = blockIdx.x;  // race
}
