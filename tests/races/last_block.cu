// Blocks leave partial sums; the one that counts last adds them up.
//   launch: sum<<<6, 64>>>(x, part, counter, y)
//   buffer: x:i32[384]=iota
//   buffer: part:i32[384]=zeros
//   buffer: counter:u32[1]=zeros
//   buffer: y:i32[64]=zeros
//   clean
//   clean: ALL_FENCE
//   clean: RELEASE
//   clean: RESET
//   global_race: NO_WRITER_FENCE
//   global_race: NO_READER_FENCE
//   global_race: NO_BARRIER_BEFORE
//   global_race: NO_BARRIER_AFTER
//   global_race: BLOCK_FENCE
//   global_race: BLOCK_ATOMIC
//   global_race: RELAXED
//   global_race: FENCE_TOO_EARLY
#include <cuda/atomic>
extern "C" __global__ void sum(const int* x, volatile int* out, unsigned* counter, int* y) {
    __shared__ bool last;
    int* part = const_cast<int*>(out);
    const int t = threadIdx.x, b = blockIdx.x, n = gridDim.x;
#ifdef FENCE_TOO_EARLY
    __threadfence();
#endif
    part[b * 64 + t] = x[b * 64 + t] * 2;  // race
#ifdef ALL_FENCE
    __threadfence();
#endif
#ifndef NO_BARRIER_BEFORE
    __syncthreads();
#endif
    if (t == 0) {
#if defined(RELEASE)
        cuda::atomic_ref<unsigned, cuda::thread_scope_device> shared_counter(*counter);
        last = shared_counter.fetch_add(1, cuda::memory_order_acq_rel) == n - 1;
#elif defined(RELAXED)
        cuda::atomic_ref<unsigned, cuda::thread_scope_device> shared_counter(*counter);
        last = shared_counter.fetch_add(1, cuda::memory_order_relaxed) == n - 1;
#elif defined(BLOCK_ATOMIC)
        __threadfence();
        last = atomicAdd_block(counter, 1) == n - 1;  // race: BLOCK_ATOMIC
        __threadfence();
#else
#if defined(BLOCK_FENCE)
        __threadfence_block();
#elif !defined(NO_WRITER_FENCE) && !defined(ALL_FENCE) && !defined(FENCE_TOO_EARLY)
        __threadfence();
#endif
        last = atomicAdd(counter, 1) == n - 1;
#ifndef NO_READER_FENCE
        __threadfence();
#endif
#endif
#ifdef RESET
        if (last) *counter = 0;
#endif
    }
#ifdef NO_BARRIER_AFTER
    // Every warp finds out by itself, without an acquire of its own.
    volatile unsigned* polled = counter;
    while (*polled < n) {}
    if (b == 0) {
#else
    __syncthreads();
    if (last) {
#endif
        int v = 0;
        for (int i = 0; i < n; ++i) v += part[i * 64 + t];  // race
        y[t] = v;
    }
}
