// Blocks of one warp: what a lane releases or acquires is its own until the warp synchronises.
//   launch: message<<<2, 32>>>(data, flag, y)
//   buffer: data:i32[32]=zeros
//   buffer: flag:i32[1]=zeros
//   buffer: y:i32[32]=zeros
//   clean
//   global_race: NO_SYNC_BEFORE
//   global_race: NO_SYNC_AFTER
//   clean: OWN_FLAGS
extern "C" __global__ void message(int* data, int* flag, int* y) {
    const int t = threadIdx.x;
#ifdef OWN_FLAGS
    const bool mine = t == 5;
#else
    const bool mine = t == 0;
#endif
    if (blockIdx.x == 0) {
        data[t] = t + 1;  // race
#ifndef NO_SYNC_BEFORE
        __syncwarp();
#endif
        if (mine) {
            __threadfence();
            atomicExch(flag, 1);
        }
    } else {
        if (mine) {
            while (atomicAdd(flag, 0) == 0) {}
            __threadfence();
        }
#ifndef NO_SYNC_AFTER
        __syncwarp();
#endif
        y[t] = data[31 - t];  // race
    }
}
