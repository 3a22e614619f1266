// A producer warp and a consumer warp with mbarriers for full and empty.
//   launch: pipe<<<1, 64>>>(y)
//   buffer: y:i32[128]=zeros
//   clean
//   shared_race: NO_EMPTY_WAIT
//   shared_race: ARRIVES_TOO_EARLY
#include <cuda/barrier>
extern "C" __global__ void pipe(int* y) {
    __shared__ int slot[32];
    __shared__ cuda::barrier<cuda::thread_scope_block> full, empty;
    const int t = threadIdx.x, lane = t % 32;
    if (t == 0) init(&full, 64), init(&empty, 64);
    slot[lane] = 0;
    __syncthreads();
    for (int round = 0; round < 4; ++round)
        if (t < 32) {
#ifdef ARRIVES_TOO_EARLY
            auto token = full.arrive();
            slot[lane] = round + lane;  // race
            full.wait(std::move(token));
#else
            slot[lane] = round + lane;  // race
            full.arrive();
#endif
            empty.arrive_and_wait();
        } else {
            full.arrive_and_wait();
#ifdef NO_EMPTY_WAIT
            empty.arrive();
#endif
            y[round * 32 + lane] = slot[31 - lane];  // race
#ifndef NO_EMPTY_WAIT
            empty.arrive_and_wait();
#endif
        }
}
