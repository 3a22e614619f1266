// Lanes of a warp exchange through memory.
//   launch: exchange<<<1, 64>>>(x)
//   buffer: x:i32[64]=iota
//   clean
//   shared_race: NO_SYNCWARP
//   clean: BY_GLOBAL
//   global_race: BY_GLOBAL NO_SYNCWARP
//   clean: BY_HALVES
//   shared_race: BY_HALVES WIDE
extern "C" __global__ void exchange(int* x) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
#ifdef BY_GLOBAL
    int* place = x;
#else
    int* place = tile;
#endif
    place[t] = t * t;  // race
#if defined(BY_HALVES)
    __syncwarp(t % 32 < 16 ? 0xffffu : 0xffff0000u);
#elif !defined(NO_SYNCWARP)
    __syncwarp();
#endif
#ifdef WIDE
    const int v = place[t ^ 17];  // race
#else
    const int v = place[t ^ 1];  // race
#endif
    __syncwarp();
    x[t] = v;
}
