// Two buffers in shared memory and one barrier a round.
//   launch: rounds<<<1, 128>>>(y)
//   buffer: y:i32[128]=zeros
//   clean
//   shared_race: ONE_BUFFER
extern "C" __global__ void rounds(int* y) {
    __shared__ int tile[2][128];
    const int t = threadIdx.x;
    int v = t;
    for (int round = 0; round < 5; ++round) {
#ifdef ONE_BUFFER
        int* now = tile[0];
#else
        int* now = tile[round & 1];
#endif
        now[t] = v;  // race
        __syncthreads();
        v = now[(t * 5 + 1) % 128] + round;  // race
    }
    y[t] = v;
}
