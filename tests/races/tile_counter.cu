// Blocks fetch tiles from a counter and write them.
//   launch: fetch<<<4, 32>>>(counter, y)
//   buffer: counter:i32[1]=zeros
//   buffer: y:i32[512]=zeros
//   clean
//   shared_race: NO_BARRIER
//   global_race?: SHARED_TILE
extern "C" __global__ void fetch(int* counter, int* y) {
    __shared__ int tile;
    for (;;) {
        if (threadIdx.x == 0) tile = atomicAdd(counter, 1);  // race: NO_BARRIER
#ifndef NO_BARRIER
        __syncthreads();
#endif
        const int mine = tile;  // race: NO_BARRIER
        __syncthreads();
        if (mine >= 16) return;
#ifdef SHARED_TILE
        y[mine / 2 * 32 + threadIdx.x] = mine;  // race: SHARED_TILE
#else
        y[mine * 32 + threadIdx.x] = mine;
#endif
    }
}
