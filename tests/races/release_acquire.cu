// The same by releases and acquires of libcu++, each scope and order lowered in turn.
//   launch: message<<<2, 64>>>(data, flag, y)
//   buffer: data:i32[64]=zeros
//   buffer: flag:i32[1]=zeros
//   buffer: y:i32[64]=zeros
//   clean
//   clean: FENCES
//   clean: SYSTEM
//   global_race: RELAXED_STORE
//   global_race: RELAXED_LOAD
//   global_race: BLOCK_STORE
//   global_race: BLOCK_LOAD
//   global_race: FENCES BLOCK_FENCE
#include <cuda/atomic>
#ifdef SYSTEM
constexpr auto kScope = cuda::thread_scope_system;
#else
constexpr auto kScope = cuda::thread_scope_device;
#endif
#ifdef BLOCK_STORE
constexpr auto kStoreScope = cuda::thread_scope_block;
#else
constexpr auto kStoreScope = kScope;
#endif
#ifdef BLOCK_LOAD
constexpr auto kLoadScope = cuda::thread_scope_block;
#else
constexpr auto kLoadScope = kScope;
#endif
#ifdef BLOCK_FENCE
constexpr auto kFenceScope = cuda::thread_scope_block;
#else
constexpr auto kFenceScope = kScope;
#endif
extern "C" __global__ void message(int* data, int* flag, int* y) {
    const int t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = t + 1;  // race
        __syncthreads();
        if (t != 0) return;
        cuda::atomic_ref<int, kStoreScope> out(*flag);
#if defined(FENCES)
        cuda::atomic_thread_fence(cuda::memory_order_release, kFenceScope);
        out.store(1, cuda::memory_order_relaxed);  // race
#elif defined(RELAXED_STORE)
        out.store(1, cuda::memory_order_relaxed);
#else
        out.store(1, cuda::memory_order_release);  // race: BLOCK_STORE BLOCK_LOAD
#endif
    } else {
        if (t == 0) {
            cuda::atomic_ref<int, kLoadScope> in(*flag);
#if defined(FENCES)
            while (in.load(cuda::memory_order_relaxed) == 0) {}
            cuda::atomic_thread_fence(cuda::memory_order_acquire, kFenceScope);
#elif defined(RELAXED_LOAD)
            while (in.load(cuda::memory_order_relaxed) == 0) {}
#else
            while (in.load(cuda::memory_order_acquire) == 0) {}  // race: BLOCK_STORE BLOCK_LOAD
#endif
        }
        __syncthreads();
        y[t] = data[63 - t];  // race
    }
}
