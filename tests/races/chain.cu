// A block hands on what another one has given it: A to B to C.
//   launch: chain<<<3, 64>>>(data, flag, y)
//   buffer: data:i32[64]=zeros
//   buffer: flag:i32[2]=zeros
//   buffer: y:i32[64]=zeros
//   clean
//   global_race: NO_MIDDLE_FENCE
//   global_race: MIDDLE_DOES_NOT_WAIT
extern "C" __global__ void chain(int* data, int* flag, int* y) {
    const int t = threadIdx.x;
    const auto wait = [&](int* which) {
        int seen;
        if (t == 0) {
            do asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(which) : "memory");
            while (seen == 0);
        }
        __syncthreads();
    };
    if (blockIdx.x == 0) {
        data[t] = t;  // race
        __syncthreads();
        if (t == 0) __threadfence(), atomicExch(flag, 1);
    } else if (blockIdx.x == 1) {
#ifndef MIDDLE_DOES_NOT_WAIT
        wait(flag);
#endif
        if (t == 32) {
#ifndef NO_MIDDLE_FENCE
            __threadfence();
#endif
            atomicExch(flag + 1, 1);
        }
    } else {
        wait(flag + 1);
        y[t] = data[63 - t];  // race
    }
}
