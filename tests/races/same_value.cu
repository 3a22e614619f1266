// All who find something set one flag to one value.
//   launch: find<<<4, 64>>>(x, found)
//   buffer: x:i32[256]=iota
//   buffer: found:i32[1]=zeros
//   clean
//   clean: CHAR
//   global_race: WHO
//   global_race: READ_AFTER
extern "C" __global__ void find(const int* x, int* found) {
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (x[i] % 50 != 49) return;
#if defined(WHO)
    *found = i;  // race
#elif defined(CHAR)
    *(bool*)found = true;
#else
    *found = 1;  // race
#endif
#ifdef READ_AFTER
    __syncthreads();
    if (*found != 1) asm volatile("trap;");  // race
#endif
}
