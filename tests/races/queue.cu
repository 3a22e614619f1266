// A ring between a producer and a consumer block: head and tail are flags for each other.
//   launch: ring<<<2, 32>>>(slot, head, tail, y)
//   buffer: slot:i32[128]=zeros
//   buffer: head:i32[1]=zeros
//   buffer: tail:i32[1]=zeros
//   buffer: y:i32[320]=zeros
//   clean
//   global_race?: NO_SPACE_CHECK
//   global_race: NO_CONSUMER_RELEASE
#include <cuda/atomic>
extern "C" __global__ void ring(int* slot, int* head, int* tail, int* y) {
    cuda::atomic_ref<int, cuda::thread_scope_device> produced(*head), consumed(*tail);
    const int lane = threadIdx.x;
    for (int i = 0; i < 10; ++i)
        if (blockIdx.x == 0) {
#ifndef NO_SPACE_CHECK
            if (lane == 0)
                while (i - consumed.load(cuda::memory_order_acquire) >= 4) {}
            __syncwarp();
#endif
            slot[i % 4 * 32 + lane] = i * 32 + lane;  // race
            __syncwarp();
            if (lane == 0) produced.store(i + 1, cuda::memory_order_release);
        } else {
            if (lane == 0)
                while (produced.load(cuda::memory_order_acquire) <= i) {}
            __syncwarp();
            y[i * 32 + lane] = slot[i % 4 * 32 + 31 - lane];  // race
            __syncwarp();
#ifdef NO_CONSUMER_RELEASE
            if (lane == 0) consumed.store(i + 1, cuda::memory_order_relaxed);
#else
            if (lane == 0) consumed.store(i + 1, cuda::memory_order_release);
#endif
        }
}
