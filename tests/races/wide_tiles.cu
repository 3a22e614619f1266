// Tiles of several warps (cooperative_groups) exchange values by shared memory, by a reduction and by a shuffle.
//   launch: exchange<<<2, 256>>>(x, y)
//   buffer: x:i32[512]=iota
//   buffer: y:i32[512]=uninit
//   clean
//   clean: GIVEN_MEMORY
//   shared_race: NO_SYNC
//   shared_race: SMALLER_TILE
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void exchange(const int* x, int* y) {
    __shared__ int row[256];
#ifdef GIVEN_MEMORY
    __shared__ cg::block_tile_memory<256> memory;
    auto block = cg::this_thread_block(memory);
#else
    auto block = cg::this_thread_block();
#endif
    auto tile = cg::tiled_partition<128>(block);
    auto half = cg::tiled_partition<64>(block);
    const int t = threadIdx.x;
    row[t] = x[blockIdx.x * 256 + t];  // race
#if defined(SMALLER_TILE)
    half.sync();
#elif !defined(NO_SYNC)
    tile.sync();
#endif
    int sum = row[t ^ 96];  // race
    for (int i = 0; i < 3; ++i) sum += cg::reduce(tile, sum % 7, cg::plus<int>()) + cg::reduce(half, i + t, cg::greater<int>());
    if (tile.any(sum < 0)) sum = 0;
    y[blockIdx.x * 256 + t] = sum + tile.shfl(sum, 77) + half.shfl(t, 3);
}
