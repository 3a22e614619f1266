// Page ranks are pushed to a vertex's neighbours.
//   launch: push<<<4, 32>>>(rank, next)
//   buffer: rank:f32[128]=const(1)
//   buffer: next:f32[128]=zeros
//   clean
//   clean: OWN
//   global_race: PLAIN
extern "C" __global__ void push(const float* rank, float* next) {
    const int v = blockIdx.x * 32 + threadIdx.x;
    for (int i = 1; i < 4; ++i) {
#if defined(OWN)
        next[v] += rank[v] / 3;
#elif defined(PLAIN)
        next[(v * 5 + i * 7) % 128] += rank[v] / 3;  // race
#else
        atomicAdd(next + (v * 5 + i * 7) % 128, rank[v] / 3);
#endif
    }
}
