// Blocks add rows of shared memory to one of global memory by asynchronous reductions; the one that counts last reads it.
//   launch: sum<<<5, 64>>>(total, counter, y)
//   buffer: total:i32[64]=zeros
//   buffer: counter:u32[1]=zeros
//   buffer: y:i32[64]=zeros
//   clean
//   clean: RELEASE
//   global_race: NO_WRITER_FENCE
//   global_race: NO_READER_FENCE
//   global_race: SOURCES_ALONE
//   global_race: NO_COUNTER
#include <cuda/atomic>
extern "C" __global__ void sum(int* total, unsigned* counter, int* y) {
    __shared__ alignas(16) int row[64];
    __shared__ bool last;
    const int t = threadIdx.x;
    row[t] = blockIdx.x + t;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], 256;" ::"l"(total), "r"((unsigned)__cvta_generic_to_shared(row)) : "memory");  // race
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#ifdef SOURCES_ALONE
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#else
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
#if defined(NO_COUNTER)
        last = true;
#elif defined(RELEASE)
        last = cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*counter).fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x - 1;
#else
#ifndef NO_WRITER_FENCE
        __threadfence();
#endif
        last = atomicAdd(counter, 1) == gridDim.x - 1;
#ifndef NO_READER_FENCE
        __threadfence();
#endif
#endif
    }
    __syncthreads();
    if (last) y[t] = total[t];  // race
}
