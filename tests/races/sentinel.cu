// The data are their own flag: the consumer polls each word until it is no longer the sentinel.
//   launch: message<<<2, 64>>>(data, y)
//   buffer: data:i32[64]=const(-1)
//   buffer: y:i32[64]=zeros
//   clean
//   global_race: PLAIN
extern "C" __global__ void message(int* data, int* y) {
    const int t = threadIdx.x;
    volatile int* polled = data;
    if (blockIdx.x == 0) {
#ifdef PLAIN
        data[t] = t + 1;  // race
#else
        polled[t] = t + 1;
#endif
    } else {
        int v;
        while ((v = polled[63 - t]) < 0) {}  // race
        y[t] = v;
    }
}
