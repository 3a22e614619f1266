// Blocks of a cluster read each other's shared memory.
//   launch: ring<<<4, 32, 0, cluster=(2,1,1)>>>(y)
//   buffer: y:i32[128]=zeros
//   clean
//   shared_race: NO_SYNC
//   clean: BY_GLOBAL
//   global_race: BY_GLOBAL NO_SYNC
//   global_race: BY_GLOBAL ACROSS
#include <cooperative_groups.h>
extern "C" __global__ void ring(int* y) {
    namespace cg = cooperative_groups;
    __shared__ int tile[32];
    auto cluster = cg::this_cluster();
    const int t = threadIdx.x, other = cluster.block_rank() ^ 1;
    tile[t] = 0;
    cluster.sync();
    tile[t] = blockIdx.x * 32 + t;  // race
    y[blockIdx.x * 32 + t] = t;     // race
#ifndef NO_SYNC
    cluster.sync();
#endif
#if defined(ACROSS)
    const int v = y[(blockIdx.x ^ 2) * 32 + t];  // race
#elif defined(BY_GLOBAL)
    const int v = y[(blockIdx.x ^ 1) * 32 + 31 - t];  // race
#else
    const int v = cluster.map_shared_rank(tile, other)[31 - t];  // race
#endif
    cluster.sync();
    y[blockIdx.x * 32 + t] = v;
}
