// cooperative_groups' barrier of the grid.
//   launch: rounds<<<4, 64, 0, cooperative>>>(x, y)
//   buffer: x:i32[256]=iota
//   buffer: y:i32[256]=zeros
//   clean
//   clean: SPLIT
//   global_race: NO_SYNC
//   global_race: BLOCK_SYNC
//   global_race?: ONE_SYNC
#include <cooperative_groups.h>
extern "C" __global__ void rounds(int* x, int* y) {
    auto grid = cooperative_groups::this_grid();
    const int i = blockIdx.x * 64 + threadIdx.x;
    for (int round = 0; round < 2; ++round) {
        y[i] = x[i] + 1;  // race
#if defined(BLOCK_SYNC)
        __syncthreads();
#elif defined(SPLIT)
        auto token = grid.barrier_arrive();
        grid.barrier_wait(std::move(token));
#elif !defined(NO_SYNC)
        grid.sync();
#endif
        x[i] = y[255 - i];  // race
#ifndef ONE_SYNC
        grid.sync();  // before the next round writes y
#endif
    }
}
