// One lock for all blocks.
//   launch: add<<<6, 64>>>(lock, sum)
//   buffer: lock:i32[1]=zeros
//   buffer: sum:i32[2]=zeros
//   clean
//   clean: BY_LANE
//   clean: ACQUIRE_RELEASE
//   global_race: NO_FENCE_INSIDE
//   global_race: NO_FENCE_BEFORE_UNLOCK
//   global_race: BLOCK_FENCES
//   global_race: NO_LOCK
//   global_race: RELAXED
#include <cuda/atomic>
extern "C" __global__ void add(int* lock, int* sum) {
#ifdef BY_LANE
    if (threadIdx.x % 16 != 3) return;
#else
    if (threadIdx.x != 0) return;
#endif
    bool done = false;
    while (!done) {
#if defined(ACQUIRE_RELEASE) || defined(RELAXED)
        cuda::atomic_ref<int, cuda::thread_scope_device> state(*lock);
        int expected = 0;
#ifdef RELAXED
        const auto acquire = cuda::memory_order_relaxed, release = cuda::memory_order_relaxed;
#else
        const auto acquire = cuda::memory_order_acquire, release = cuda::memory_order_release;
#endif
        if (!state.compare_exchange_strong(expected, 1, acquire, cuda::memory_order_relaxed)) continue;
        sum[0] += 1;  // race: RELAXED
        sum[1] = sum[0];  // race: RELAXED
        state.store(0, release);
#else
#ifndef NO_LOCK
        if (atomicCAS(lock, 0, 1) != 0) continue;
#endif
#if defined(BLOCK_FENCES)
        __threadfence_block();
#elif !defined(NO_FENCE_INSIDE)
        __threadfence();
#endif
        sum[0] += 1;  // race
        sum[1] = sum[0];  // race
#if defined(BLOCK_FENCES)
        __threadfence_block();
#elif !defined(NO_FENCE_BEFORE_UNLOCK)
        __threadfence();
#endif
        atomicExch(lock, 0);
#endif
        done = true;
    }
}
