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
        if (t == 0) {
            while (atomicAdd(which, 0) == 0) {}
            __threadfence();
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
        if (t == 0) {
#ifndef NO_MIDDLE_FENCE
            __threadfence();
            atomicExch(flag + 1, 1);
#endif
        }
#ifdef NO_MIDDLE_FENCE
        // Another thread passes it on, without a fence of its own.
        if (t == 32) atomicExch(flag + 1, 1);
#endif
    } else {
        wait(flag + 1);
        y[t] = data[63 - t];  // race
    }
}
