// A lock in shared memory for the warps of a block.
//   launch: add<<<2, 128>>>(y)
//   buffer: y:i32[2]=zeros
//   clean
//   shared_race: NO_FENCE
extern "C" __global__ void add(int* y) {
    __shared__ int lock, sum;
    if (threadIdx.x == 0) lock = sum = 0;
    __syncthreads();
    for (bool done = threadIdx.x % 32 != 0; !done;) {
        if (atomicCAS(&lock, 0, 1) == 0) {
#ifndef NO_FENCE
            __threadfence_block();
#endif
            sum += threadIdx.x + 1;  // race
#ifndef NO_FENCE
            __threadfence_block();
#endif
            atomicExch(&lock, 0);
            done = true;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
