// Warps of one block hand on data in global memory by a flag: the block's scope is enough.
//   launch: pass<<<2, 64>>>(data, flag, y)
//   buffer: data:i32[64]=zeros
//   buffer: flag:i32[2]=zeros
//   buffer: y:i32[64]=zeros
//   clean
//   global_race: NO_FENCE
//   global_race: NO_SYNCWARP
extern "C" __global__ void pass(int* data, int* flag, int* y) {
    const int lane = threadIdx.x % 32, b = blockIdx.x;
    if (threadIdx.x < 32) {
        data[b * 32 + lane] = lane;  // race
#ifndef NO_SYNCWARP
        __syncwarp();
#endif
        if (lane == 0) {
#ifndef NO_FENCE
            __threadfence_block();
#endif
            atomicExch_block(flag + b, 1);
        }
    } else {
        if (lane == 0) {
            while (atomicAdd_block(flag + b, 0) == 0) {}
            __threadfence_block();
        }
        __syncwarp();
        y[b * 32 + lane] = data[b * 32 + 31 - lane];  // race
    }
}
