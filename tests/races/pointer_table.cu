// Addresses come from memory.
//   launch: follow<<<2, 32>>>(x, table)
//   buffer: x:i32[64]=iota
//   buffer: table:u64[2]=zeros
//   clean
//   global_race: SAME
extern "C" __global__ void follow(int* x, unsigned long long* table) {
#ifdef SAME
    int* mine = x;
#else
    int* mine = x + blockIdx.x * 32;
#endif
    table[blockIdx.x] = (unsigned long long)mine;
    __syncthreads();
    int* to = (int*)table[blockIdx.x];
    to[threadIdx.x] = blockIdx.x + 7;  // race
}
