// An atomic of a cluster's scope is none between clusters.
//   launch: count<<<4, 32, 0, cluster=(2,1,1)>>>(sum)
//   buffer: sum:i32[2]=zeros
//   clean
//   global_race: ACROSS
extern "C" __global__ void __cluster_dims__(2, 1, 1) count(int* sum) {
#ifdef ACROSS
    int* at = sum;
#else
    int* at = sum + blockIdx.x / 2;
#endif
    asm volatile("red.relaxed.cluster.global.add.s32 [%0], 1;" ::"l"(at) : "memory");  // race
}
