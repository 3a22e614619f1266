// Blocks enter in the order of their tickets.
//   launch: enter<<<6, 32>>>(ticket, turn, sum)
//   buffer: ticket:u32[1]=zeros
//   buffer: turn:u32[1]=zeros
//   buffer: sum:u32[1]=zeros
//   clean
//   clean: COUNTED_UP
//   global_race: NO_FENCE_BEHIND_WAIT
//   global_race: NO_FENCE_BEFORE_NEXT
extern "C" __global__ void enter(unsigned* ticket, unsigned* turn, unsigned* sum) {
    if (threadIdx.x != 0) return;
    const unsigned mine = atomicAdd(ticket, 1);
    while (*(volatile unsigned*)turn != mine) {}
#ifndef NO_FENCE_BEHIND_WAIT
    __threadfence();
#endif
    *sum = *sum * 3 + 1;  // race
#ifndef NO_FENCE_BEFORE_NEXT
    __threadfence();
#endif
#ifdef COUNTED_UP
    atomicAdd(turn, 1);
#else
    *(volatile unsigned*)turn = mine + 1;
#endif
}
