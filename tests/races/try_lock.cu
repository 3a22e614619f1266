// Who does not get the lock does without.
//   launch: maybe<<<8, 32>>>(lock, sum)
//   buffer: lock:i32[1]=zeros
//   buffer: sum:i32[1]=zeros
//   clean
//   global_race: ENTERS_ANYWAY
extern "C" __global__ void maybe(int* lock, int* sum) {
    if (threadIdx.x != 0) return;
    const bool mine = atomicCAS(lock, 0, 1) == 0;
    __threadfence();
#ifndef ENTERS_ANYWAY
    if (!mine) return;
#endif
    *sum += 1;  // race
    __threadfence();
#ifndef ENTERS_ANYWAY
    atomicExch(lock, 0);
#endif
}
