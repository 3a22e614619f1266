// Bytes and halves side by side, written by different threads and blocks.
//   launch: fill<<<4, 64>>>(bytes, halves)
//   buffer: bytes:u8[256]=zeros
//   buffer: halves:u16[256]=zeros
//   clean
//   clean: INTERLEAVED
//   global_race: WORDS
extern "C" __global__ void fill(unsigned char* bytes, unsigned short* halves) {
#ifdef INTERLEAVED
    const int i = threadIdx.x * 4 + blockIdx.x;
#else
    const int i = blockIdx.x * 64 + threadIdx.x;
#endif
    bytes[i] = (unsigned char)(i * 3);  // race
    halves[i] = (unsigned short)(i * 5);
#ifdef WORDS
    // Rounds a byte's address down to a word that other threads own three bytes of.
    if (i % 4 == 3) *(unsigned*)(bytes + i - 3) = i;  // race
#endif
}
