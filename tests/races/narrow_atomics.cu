// An atomic of block scope is none between blocks.
//   launch: count<<<2, 64>>>(sum)
//   buffer: sum:i32[2]=zeros
//   clean
//   clean: OWN
//   clean: SYSTEM
//   global_race: BLOCK
//   global_race: MIXED
extern "C" __global__ void count(int* sum) {
#if defined(OWN)
    atomicAdd_block(sum + blockIdx.x, 1);
#elif defined(BLOCK)
    atomicAdd_block(sum, 1);  // race: BLOCK
#elif defined(SYSTEM)
    atomicAdd_system(sum, 1);
#elif defined(MIXED)
    if (blockIdx.x == 0)
        atomicAdd_block(sum, 1);  // race: MIXED
    else
        atomicAdd(sum, 1);  // race: MIXED
#else
    atomicAdd(sum, 1);
#endif
}
