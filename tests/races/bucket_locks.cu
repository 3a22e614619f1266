// A lock a bucket.
//   launch: insert<<<4, 32>>>(key, lock, bucket)
//   buffer: key:i32[128]=iota
//   buffer: lock:i32[8]=zeros
//   buffer: bucket:i32[8]=zeros
//   clean
//   global_race: WRONG_LOCK
extern "C" __global__ void insert(const int* key, int* lock, int* bucket) {
    const int k = key[blockIdx.x * 32 + threadIdx.x] * 5 % 8;
#ifdef WRONG_LOCK
    const int l = (k + blockIdx.x) % 8;
#else
    const int l = k;
#endif
    for (bool done = false; !done;) {
        if (atomicCAS(lock + l, 0, 1) == 0) {
            __threadfence();
            bucket[k] = bucket[k] * 3 + 1;  // race
            __threadfence();
            atomicExch(lock + l, 0);
            done = true;
        }
    }
}
