// Neighbours are swapped in turns by one block.
//   launch: sort<<<1, 64>>>(x)
//   buffer: x:i32[128]=uniform(0,100)
//   clean
//   global_race: NO_BARRIER
extern "C" __global__ void sort(int* x) {
    for (int turn = 0; turn < 128; ++turn) {
        const int i = 2 * threadIdx.x + (turn & 1);
        if (i + 1 < 128 && x[i] > x[i + 1]) {  // race
            const int v = x[i];                // race
            x[i] = x[i + 1];                   // race
            x[i + 1] = v;                      // race
        }
#ifndef NO_BARRIER
        __syncthreads();
#endif
    }
}
