// Page ranks are pulled from a vertex's neighbours.
//   launch: pull<<<4, 32>>>(neighbour, rank, next)
//   buffer: neighbour:i32[128]=iota
//   buffer: rank:f32[128]=const(1)
//   buffer: next:f32[128]=zeros
//   clean
//   global_race: IN_PLACE
extern "C" __global__ void pull(const int* neighbour, float* rank, float* next) {
    const int v = blockIdx.x * 32 + threadIdx.x;
    float sum = 0;
    for (int i = 1; i < 4; ++i) sum += rank[(neighbour[v] * 3 + i * 17) % 128];  // race
#ifdef IN_PLACE
    rank[v] = sum / 3;  // race
#else
    next[v] = sum / 3;
#endif
}
