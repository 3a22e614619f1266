// What bench/vgpu.cpp runs on the virtual GPU, written as LLM-inference kernels are. The .ptx beside this file is what NVRTC
// 13.0 makes of it with --gpu-architecture=compute_90a -lineinfo -std=c++17: make it again after every change.
// host_kernels.h has the same as plain C++.
#include <cuda_bf16.h>

typedef unsigned u32;
typedef unsigned long long u64;

__device__ float low(u32 pair) { return __uint_as_float(pair << 16); }
__device__ float high(u32 pair) { return __uint_as_float(pair & 0xffff0000u); }
__device__ u32 pair_of(float a, float b) {
    const __nv_bfloat162 both = __floats2bfloat162_rn(a, b);
    return *reinterpret_cast<const u32*>(&both);
}

// One block of 256 threads a row, eight elements an access.
extern "C" __global__ void __launch_bounds__(256) rmsnorm(const uint4* x, const uint4* w, uint4* y, float eps, int width) {
    __shared__ float partial[8];
    const int words = width / 8;
    const uint4* row = x + (size_t)blockIdx.x * words;
    float sum = 0;
    for (int i = threadIdx.x; i < words; i += 256) {
        const uint4 v = row[i];
        for (const u32 pair : {v.x, v.y, v.z, v.w}) sum += low(pair) * low(pair) + high(pair) * high(pair);
    }
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    float total = 0;
    for (int i = 0; i < 8; ++i) total += partial[i];
    const float scale = rsqrtf(total / width + eps);
    for (int i = threadIdx.x; i < words; i += 256) {
        const uint4 v = row[i], g = w[i];
        const auto scaled = [&](u32 a, u32 b) { return pair_of(low(a) * scale * low(b), high(a) * scale * high(b)); };
        y[(size_t)blockIdx.x * words + i] = {scaled(v.x, g.x), scaled(v.y, g.y), scaled(v.z, g.z), scaled(v.w, g.w)};
    }
}

__device__ float silu(float g) { return __fdividef(g, 1 + __expf(-g)); }

// y = silu(g) * u; a row of gu has g, then u.
extern "C" __global__ void __launch_bounds__(256) silu_mul(const uint2* gu, uint2* y, int words, int count) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= count) return;
    const uint2* row = gu + (size_t)(i / words) * (2 * words) + i % words;
    const uint2 g = row[0], u = row[words];
    y[i] = {pair_of(silu(low(g.x)) * low(u.x), silu(high(g.x)) * high(u.x)),
            pair_of(silu(low(g.y)) * low(u.y), silu(high(g.y)) * high(u.y))};
}

// The K largest of 128 logits and their softmax, a warp a row.
extern "C" __global__ void __launch_bounds__(128) topk(const float* logits, int* index, float* weight, int rows) {
    constexpr int K = 8;
    const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    u64 key[4];
    for (int j = 0; j < 4; ++j) {
        const u32 bits = __float_as_uint(logits[(size_t)row * 128 + j * 32 + lane] + 0.0f);
        key[j] = (u64)(bits & 0x80000000u ? ~bits : bits | 0x80000000u) << 32 | (u32)~(j * 32 + lane);
    }
    float first = 0, sum = 0, mine = 0;
    int at = 0;
    for (int k = 0; k < K; ++k) {
        u64 best = 0;
        for (int j = 0; j < 4; ++j) best = key[j] > best ? key[j] : best;
        for (int d = 16; d > 0; d /= 2) {
            const u64 other = __shfl_xor_sync(0xffffffffu, best, d);
            best = other > best ? other : best;
        }
        for (int j = 0; j < 4; ++j) key[j] = key[j] == best ? 0 : key[j];
        const u32 ordered = (u32)(best >> 32);
        const float v = __uint_as_float(ordered & 0x80000000u ? ordered & 0x7fffffffu : ~ordered);
        if (k == 0) first = v;
        const float power = __expf(v - first);
        sum += power;
        if (lane == k) mine = power, at = (int)~(u32)best;
    }
    if (lane < K) {
        index[row * K + lane] = at;
        weight[row * K + lane] = mine / sum;
    }
}

__device__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ void copy_async(u32 to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
__device__ void load_four(u32 (&r)[4], u32 address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}

// c[n, n] = a[n, n] b[n, n]^T in f32: 64 x 64 a block of four warps, steps of 32 along k, two in flight.
extern "C" __global__ void __launch_bounds__(128) matmul_mma(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int n) {
    constexpr int kStep = 32, kPitch = 40;
    __shared__ __align__(16) __nv_bfloat16 tile[2][2][64 * kPitch];
    const int t = threadIdx.x, warp = t / 32, lane = t % 32;
    const __nv_bfloat16* from[2] = {a + (size_t)blockIdx.y * 64 * n, b + (size_t)blockIdx.x * 64 * n};
    const auto fetch = [&](int stage, int k) {
        for (int operand = 0; operand < 2; ++operand)
            for (int i = t; i < 64 * 4; i += 128)
                copy_async(shared_address(&tile[stage][operand][i / 4 * kPitch + i % 4 * 8]), from[operand] + (size_t)(i / 4) * n + k + i % 4 * 8);
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    float sum[2][4][4] = {};
    fetch(0, 0);
    for (int k = 0; k < n; k += kStep) {
        const int stage = k / kStep % 2;
        if (k + kStep < n) fetch(stage ^ 1, k + kStep);
        if (k + kStep < n)
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        else
            asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncthreads();
        for (int inner = 0; inner < kStep; inner += 16) {
            u32 x[2][4], y[2][4];
            for (int i = 0; i < 2; ++i) {
                const int row = warp / 2 * 32 + i * 16 + lane % 16, column = warp % 2 * 32 + i * 16 + lane / 16 * 8 + lane % 8;
                load_four(x[i], shared_address(&tile[stage][0][row * kPitch + inner + lane / 16 * 8]));
                load_four(y[i], shared_address(&tile[stage][1][column * kPitch + inner + lane / 8 % 2 * 8]));
            }
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 4; ++j)
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                                 : "+f"(sum[i][j][0]), "+f"(sum[i][j][1]), "+f"(sum[i][j][2]), "+f"(sum[i][j][3])
                                 : "r"(x[i][0]), "r"(x[i][1]), "r"(x[i][2]), "r"(x[i][3]), "r"(y[j / 2][j % 2 * 2]), "r"(y[j / 2][j % 2 * 2 + 1]));
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j)
            for (int half = 0; half < 2; ++half) {
                const int row = blockIdx.y * 64 + warp / 2 * 32 + i * 16 + half * 8 + lane / 4, column = blockIdx.x * 64 + warp % 2 * 32 + j * 8 + lane % 4 * 2;
                *reinterpret_cast<float2*>(c + (size_t)row * n + column) = {sum[i][j][half * 2], sum[i][j][half * 2 + 1]};
            }
}

__device__ u64 descriptor(u32 address) {  // K-major, swizzled by 128 bytes, eight rows 1024 bytes apart
    return (u64)(address >> 4 & 0x3fff) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

// The same with a warpgroup's products: 64 x 64 a block, steps of 64 along k, both operands in shared memory.
extern "C" __global__ void __launch_bounds__(128) matmul_wgmma(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int n) {
    __shared__ __align__(1024) unsigned char tile[2][2][64 * 128];
    const int t = threadIdx.x, warp = t / 32, lane = t % 32;
    const __nv_bfloat16* from[2] = {a + (size_t)blockIdx.y * 64 * n, b + (size_t)blockIdx.x * 64 * n};
    const auto fetch = [&](int stage, int k) {
        for (int operand = 0; operand < 2; ++operand)
            for (int i = t; i < 64 * 8; i += 128) {
                const int row = i / 8, chunk = i % 8;
                copy_async(shared_address(&tile[stage][operand][row * 128 + (chunk ^ row % 8) * 16]), from[operand] + (size_t)row * n + k + chunk * 8);
            }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    float sum[32] = {};
    fetch(0, 0);
    for (int k = 0; k < n; k += 64) {
        const int stage = k / 64 % 2;
        if (k + 64 < n) fetch(stage ^ 1, k + 64);
        if (k + 64 < n)
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        else
            asm volatile("cp.async.wait_group 0;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int inner = 0; inner < 4; ++inner)
            asm volatile(
                "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
                "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, 1, 1, 1, 0, 0;"
                : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]), "+f"(sum[7]),
                  "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11]), "+f"(sum[12]), "+f"(sum[13]), "+f"(sum[14]), "+f"(sum[15]),
                  "+f"(sum[16]), "+f"(sum[17]), "+f"(sum[18]), "+f"(sum[19]), "+f"(sum[20]), "+f"(sum[21]), "+f"(sum[22]), "+f"(sum[23]),
                  "+f"(sum[24]), "+f"(sum[25]), "+f"(sum[26]), "+f"(sum[27]), "+f"(sum[28]), "+f"(sum[29]), "+f"(sum[30]), "+f"(sum[31])
                : "l"(descriptor(shared_address(tile[stage][0]) + inner * 32)), "l"(descriptor(shared_address(tile[stage][1]) + inner * 32))
                : "memory");
        asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
        __syncthreads();
    }
    for (int i = 0; i < 32; i += 2) {
        const int row = blockIdx.y * 64 + warp * 16 + i / 2 % 2 * 8 + lane / 4, column = blockIdx.x * 64 + i / 4 * 8 + lane % 4 * 2;
        *reinterpret_cast<float2*>(c + (size_t)row * n + column) = {sum[i], sum[i + 1]};
    }
}
