// A block hands data to another one by a flag and fences.
//   launch: message<<<2, 64>>>(data, flag, y)
//   buffer: data:i32[64]=zeros
//   buffer: flag:i32[1]=zeros
//   buffer: y:i32[64]=zeros
//   clean
//   clean: VOLATILE
//   global_race: NO_WRITER_FENCE
//   global_race: NO_READER_FENCE
//   global_race: WRITER_BLOCK_FENCE
//   global_race: READER_BLOCK_FENCE
//   global_race: PLAIN_FLAG
//   global_race: NO_BARRIER_BEFORE
//   global_race: NO_BARRIER_AFTER
//   global_race: NO_WAIT
//   global_race: FLAG_FIRST
extern "C" __global__ void message(int* data, int* flag, int* y) {
    const int t = threadIdx.x;
    if (blockIdx.x == 0) {
#ifdef FLAG_FIRST
        if (t == 0) __threadfence(), atomicExch(flag, 1);
#endif
        data[t] = t + 1;  // race
#ifndef NO_BARRIER_BEFORE
        __syncthreads();
#endif
        if (t == 0) {
#if defined(WRITER_BLOCK_FENCE)
            __threadfence_block();
#elif !defined(NO_WRITER_FENCE)
            __threadfence();
#endif
#if defined(PLAIN_FLAG)
            *flag = 1;  // race: PLAIN_FLAG
#elif defined(VOLATILE)
            *(volatile int*)flag = 1;
#elif !defined(FLAG_FIRST)
            atomicExch(flag, 1);
#endif
        }
    } else {
        if (t == 0) {
#if defined(VOLATILE) || defined(PLAIN_FLAG)
            while (*(volatile int*)flag == 0) {}  // race: PLAIN_FLAG
#elif !defined(NO_WAIT)
            while (atomicAdd(flag, 0) == 0) {}
#endif
#if defined(READER_BLOCK_FENCE)
            __threadfence_block();
#elif !defined(NO_READER_FENCE)
            __threadfence();
#endif
        }
#ifndef NO_BARRIER_AFTER
        __syncthreads();
#endif
        y[t] = data[63 - t];  // race
    }
}
