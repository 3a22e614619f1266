// Breadth first: vertices of the next level are pushed to a worklist.
//   launch: push<<<4, 32>>>(edge, visited, list, size)
//   buffer: edge:i32[128]=iota
//   buffer: visited:i32[64]=zeros
//   buffer: list:i32[128]=zeros
//   buffer: size:i32[1]=zeros
//   clean
//   global_race: PLAIN_SIZE
//   global_race: TEST_THEN_SET
extern "C" __global__ void push(const int* edge, int* visited, int* list, int* size) {
    const int vertex = edge[blockIdx.x * 32 + threadIdx.x] % 64;
#ifdef TEST_THEN_SET
    if (visited[vertex]) return;  // race: TEST_THEN_SET
    visited[vertex] = 1;          // race: TEST_THEN_SET
#else
    if (atomicExch(visited + vertex, 1)) return;
#endif
#ifdef PLAIN_SIZE
    const int at = (*size)++;  // race: PLAIN_SIZE
#else
    const int at = atomicAdd(size, 1);
#endif
    list[at] = vertex;  // race: PLAIN_SIZE
}
