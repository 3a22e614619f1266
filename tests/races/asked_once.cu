// An mbarrier is asked once whether its copy is there, or once and again as long as it is not.
//   launch: load<<<1, 64>>>(x, y)
//   buffer: x:i32[64]=iota
//   buffer: y:i32[64]=zeros
//   clean
//   clean: BOUNDED
//   clean: FIRST_A_TEST
//   clean: HINT
//   shared_race: IGNORED
//   shared_race: IGNORED_TEST
//   shared_race: IGNORED_WORD
//   shared_race: IGNORED_ARRIVALS
//   shared_race?: USED_ONCE
typedef unsigned long long u64;
__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ unsigned ask(u64* full) {
    unsigned over;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(over) : "r"(shared_address(full)) : "memory");
    return over;
}
__device__ unsigned test(u64* full) {
    unsigned over;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(over) : "r"(shared_address(full)) : "memory");
    return over;
}
extern "C" __global__ void load(const int* x, int* y) {
    __shared__ alignas(16) int row[64];
    __shared__ u64 full;
    const int t = threadIdx.x;
    if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full)) : "memory");
    __syncthreads();
    if (t == 0) {
#ifdef IGNORED_ARRIVALS
        for (int i = 0; i < 64; ++i) row[i] = x[i];  // race
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&full)) : "memory");
#else
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(shared_address(&full)) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(shared_address(row)), "l"(x), "r"(shared_address(&full)) : "memory");  // race
#endif
    }
#if defined(IGNORED) || defined(IGNORED_ARRIVALS)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; }" ::"r"(shared_address(&full)) : "memory");
#elif defined(IGNORED_TEST)
    test(&full);
#elif defined(IGNORED_WORD)
    ask(&full);
#elif defined(USED_ONCE)
    y[t] = ask(&full);
#elif defined(BOUNDED)
    unsigned over = 0;
    for (int i = 0; i < 1000 && !over; ++i) over = ask(&full);
    if (!over) __trap();
#elif defined(FIRST_A_TEST)
    if (!test(&full))
        while (!ask(&full)) {}
#elif defined(HINT)
    ask(&full);
    while (!test(&full)) {}
#else
    while (!ask(&full)) {}
#endif
    y[t] += row[63 - t];  // race
}
