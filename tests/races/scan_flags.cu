// Decoupled look-back with values and flags in arrays of their own; any number of tiles back.
//   launch: scan<<<8, 64>>>(x, sum, prefix, flag, y)
//   buffer: x:i32[512]=const(1)
//   buffer: sum:i32[8]=zeros
//   buffer: prefix:i32[8]=zeros
//   buffer: flag:i32[8]=zeros
//   buffer: y:i32[8]=zeros
//   clean
//   global_race: NO_WRITER_FENCE
//   global_race: NO_READER_FENCE
extern "C" __global__ void scan(const int* x, int* sum, int* prefix, volatile int* flag, int* y) {
    __shared__ int total;
    const int t = threadIdx.x, tile = blockIdx.x;
    if (t == 0) total = 0;
    __syncthreads();
    atomicAdd(&total, x[tile * 64 + t]);
    __syncthreads();
    if (t != 0) return;
    sum[tile] = total;  // race
#ifndef NO_WRITER_FENCE
    __threadfence();
#endif
    flag[tile] = 1;
    int before = 0;
    for (int other = tile - 1; other >= 0; --other) {
        int state;
        while ((state = flag[other]) == 0) {}
#ifndef NO_READER_FENCE
        __threadfence();
#endif
        if (state == 2) {
            before += prefix[other];  // race
            break;
        }
        before += sum[other];  // race
    }
    prefix[tile] = before + total;  // race
#ifndef NO_WRITER_FENCE
    __threadfence();
#endif
    flag[tile] = 2;
    y[tile] = before + total;
}
