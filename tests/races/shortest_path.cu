// Relaxing edges of a graph that comes as data.
//   launch: relax<<<4, 32>>>(from, to, distance)
//   buffer: from:i32[128]=const(0)
//   buffer: to:i32[128]=const(5)
//   buffer: distance:i32[8]=[0,99,99,99,99,99,99,99]
//   clean
//   global_race: PLAIN
//   global_race: CHECKED_FIRST
extern "C" __global__ void relax(const int* from, const int* to, int* distance) {
    const int e = blockIdx.x * 32 + threadIdx.x;
    const int through = from[e] + 1 + e;
#if defined(PLAIN)
    if (through < distance[to[e]]) distance[to[e]] = through;  // race: PLAIN
#elif defined(CHECKED_FIRST)
    if (through < distance[to[e]])  // race: CHECKED_FIRST
        atomicMin(distance + to[e], through);  // race: CHECKED_FIRST
#else
    atomicMin(distance + to[e], through);
#endif
}
