// The same between blocks: rounds over two buffers, with a grid barrier a round.
//   launch: rounds<<<4, 32, 0, cooperative>>>(a, b)
//   buffer: a:i32[128]=iota
//   buffer: b:i32[128]=zeros
//   clean
//   global_race: ONE_BUFFER
#include <cooperative_groups.h>
extern "C" __global__ void rounds(int* a, int* b) {
    const auto grid = cooperative_groups::this_grid();
    const int i = blockIdx.x * 32 + threadIdx.x;
    for (int round = 0; round < 4; ++round) {
#ifdef ONE_BUFFER
        a[i] = a[(i * 5 + 1) % 128] + round;  // race
#else
        int *from = round & 1 ? b : a, *to = round & 1 ? a : b;
        to[i] = from[(i * 5 + 1) % 128] + round;
#endif
        grid.sync();
    }
}
