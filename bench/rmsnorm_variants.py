"""Distinct right rmsnorm kernels as a search makes them: the same few ideas with other widths, orders and constants in
their text, so that each is compiled for itself. Used by throughput.py and flashinfer_bench.py."""

import itertools
import random

BLOCKS = (64, 96, 128, 192, 256, 320, 384, 512)
VECTORS = {1: "unsigned short", 2: "unsigned", 4: "uint2", 8: "uint4"}
KEEPS = ("again", "registers", "shared")
SUMS = ("butterfly", "down", "tree")
ROOTS = ("rsqrtf(mean + eps)", "1.0f / sqrtf(mean + eps)")
UNROLLS = (1, 2, 4)

BLOCK_SUMS = {
    "butterfly": """    __shared__ float part[(BLOCK + 31) / 32];
#pragma unroll
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int i = 0; i < BLOCK / 32; ++i) sum += part[i];
    return sum;""",
    "down": """    __shared__ float part[32];
#pragma unroll
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        float sum = threadIdx.x < BLOCK / 32 ? part[threadIdx.x] : 0.0f;
#pragma unroll
        for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
        if (threadIdx.x == 0) part[0] = sum;
    }
    __syncthreads();
    return part[0];""",
    "tree": """    __shared__ float part[BLOCK];
    part[threadIdx.x] = v;
    __syncthreads();
    for (int left = BLOCK; left > 1;) {
        const int half = (left + 1) / 2;
        if (threadIdx.x < left - half) part[threadIdx.x] += part[threadIdx.x + half];
        left = half;
        __syncthreads();
    }
    return part[0];""",
}

TEXT = """//! idea   {idea}
//! launch rmsnorm<<<T, {block}>>>(x, w, y, eps)
{body}"""

BODY = """#include <cuda_bf16.h>

constexpr int BLOCK = {block}, WIDE = {wide}, kChunks = H / WIDE, kHeld = (kChunks + BLOCK - 1) / BLOCK;
using Chunk = {chunk};

__device__ __forceinline__ float at(const Chunk& chunk, int i) {{
    return __bfloat162float(reinterpret_cast<const __nv_bfloat16*>(&chunk)[i]);
}}

__device__ __forceinline__ float squares_of(const Chunk& chunk) {{
    float sum = 0;
#pragma unroll
    for (int e = 0; e < WIDE; ++e) sum += at(chunk, e) * at(chunk, e);
    return sum;
}}

__device__ __forceinline__ Chunk scaled(const Chunk& chunk, const Chunk& weight, float r) {{
    Chunk out;
#pragma unroll
    for (int e = 0; e < WIDE; ++e)
        reinterpret_cast<__nv_bfloat16*>(&out)[e] = __float2bfloat16(at(chunk, e) * r * at(weight, e));
    return out;
}}

__device__ float block_sum(float v) {{
{block_sum}
}}

extern "C" __global__ void __launch_bounds__(BLOCK)
    rmsnorm(const Chunk* __restrict__ x, const Chunk* __restrict__ w, Chunk* __restrict__ y, float eps) {{
    x += static_cast<size_t>(blockIdx.x) * kChunks;
    y += static_cast<size_t>(blockIdx.x) * kChunks;
    float squares = 0;
{passes}
}}
"""

PASSES = {
    "again": """#pragma unroll {unroll}
    for (int i = threadIdx.x; i < kChunks; i += BLOCK) squares += squares_of(x[i]);
    const float mean = block_sum(squares) / H, r = {root};
#pragma unroll {unroll}
    for (int i = threadIdx.x; i < kChunks; i += BLOCK) y[i] = scaled(x[i], w[i], r);""",
    "registers": """    Chunk held[kHeld];
#pragma unroll
    for (int j = 0; j < kHeld; ++j)
        if (const int i = threadIdx.x + j * BLOCK; i < kChunks) {{
            held[j] = x[i];
            squares += squares_of(held[j]);
        }}
    const float mean = block_sum(squares) / H, r = {root};
#pragma unroll
    for (int j = 0; j < kHeld; ++j)
        if (const int i = threadIdx.x + j * BLOCK; i < kChunks) y[i] = scaled(held[j], w[i], r);""",
    "shared": """    __shared__ Chunk held[kChunks];
#pragma unroll {unroll}
    for (int i = threadIdx.x; i < kChunks; i += BLOCK) {{
        held[i] = x[i];
        squares += squares_of(held[i]);
    }}
    const float mean = block_sum(squares) / H, r = {root};
#pragma unroll {unroll}
    for (int i = threadIdx.x; i < kChunks; i += BLOCK) y[i] = scaled(held[i], w[i], r);""",
}


def variants(number, seed=1):
    """`number` of (name, threads a block, body, kernel file), the same for the same seed."""
    points = [point for point in itertools.product(BLOCKS, VECTORS, KEEPS, SUMS, ROOTS, UNROLLS)
              if not (point[2] == "registers" and point[5] > 1)]
    if number > len(points):
        raise SystemExit(f"there are {len(points)} variants, not {number}")
    for index, (block, wide, keep, total, root, unroll) in enumerate(random.Random(seed).sample(points, number)):
        body = BODY.format(block=block, wide=wide, chunk=VECTORS[wide], block_sum=BLOCK_SUMS[total],
                           passes=PASSES[keep].format(unroll=unroll, root=root))
        idea = f"{block} threads a row, {2 * wide}-byte accesses, the row read from {keep}, a {total} sum"
        yield f"v{index:04}", block, body, TEXT.format(idea=idea, block=block, body=body)
