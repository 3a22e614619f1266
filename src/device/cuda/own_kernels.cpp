#include "device/cuda/own_kernels.h"

#include <algorithm>
#include <array>

namespace recuda::cuda {
namespace {

constexpr uint32_t kThreads = 256;
constexpr uint64_t kBytesABlock = 16384;  // of hashing: eight words a thread
constexpr uint32_t kMostBlocks = 512, kMostRegions = 65535;
constexpr uint64_t kNoisyBytes = uint64_t{32} << 20, kNoiseNs = 200'000;

}  // namespace

const char* const kOwnKernels = R"(
.version 7.0
.target sm_75
.address_size 64

// results[y] += the hash of regions[y] = {address, bytes}, over all blocks of the row y of the grid
.visible .entry hash(.param .u64 regions, .param .u64 results)
{
    .shared .align 8 .u64 total;
    .reg .pred %p<5>;
    .reg .u32 %r<8>;
    .reg .u64 %d<24>;
    .reg .u64 %z<4>;
    ld.param.u64 %d1, [regions];
    ld.param.u64 %d20, [results];
    mov.u32 %r1, %ctaid.y;
    mul.wide.u32 %d2, %r1, 16;
    add.u64 %d1, %d1, %d2;
    ld.global.u64 %d3, [%d1];
    ld.global.u64 %d4, [%d1+8];
    shr.u64 %d5, %d4, 3;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mov.u32 %r5, %nctaid.x;
    mad.lo.u32 %r6, %r2, %r3, %r4;
    cvt.u64.u32 %d6, %r6;
    mul.wide.u32 %d7, %r5, %r3;
    mov.u64 %d8, 0;
    setp.ne.u32 %p1, %r4, 0;
    @%p1 bra ZEROED;
    st.shared.u64 [total], %d8;
ZEROED:
    bar.sync 0;
NEXT:
    setp.gt.u64 %p2, %d6, %d5;
    @%p2 bra SUMMED;
    shl.b64 %d9, %d6, 3;
    add.u64 %d10, %d3, %d9;
    setp.eq.u64 %p3, %d6, %d5;
    @%p3 bra LAST;
    ld.global.u64 %z1, [%d10];
    bra MIX;
LAST:
    mov.u64 %z1, 0;
    and.b64 %d11, %d4, 7;
TAIL:
    setp.eq.u64 %p4, %d11, 0;
    @%p4 bra MIX;
    sub.u64 %d11, %d11, 1;
    add.u64 %d12, %d10, %d11;
    ld.global.u8 %d13, [%d12];
    shl.b64 %z1, %z1, 8;
    or.b64 %z1, %z1, %d13;
    bra TAIL;
MIX:
    add.u64 %d14, %d6, 1;
    mad.lo.u64 %z1, %d14, 0x9e3779b97f4a7c15, %z1;
    shr.u64 %z2, %z1, 30;
    xor.b64 %z1, %z1, %z2;
    mul.lo.u64 %z1, %z1, 0xbf58476d1ce4e5b9;
    shr.u64 %z2, %z1, 27;
    xor.b64 %z1, %z1, %z2;
    mul.lo.u64 %z1, %z1, 0x94d049bb133111eb;
    shr.u64 %z2, %z1, 31;
    xor.b64 %z1, %z1, %z2;
    add.u64 %d8, %d8, %z1;
    add.u64 %d6, %d6, %d7;
    bra NEXT;
SUMMED:
    atom.shared.add.u64 %z3, [total], %d8;
    bar.sync 0;
    @%p1 bra DONE;
    ld.shared.u64 %d8, [total];
    mul.wide.u32 %d15, %r1, 8;
    add.u64 %d20, %d20, %d15;
    red.global.add.u64 [%d20], %d8;
DONE:
    ret;
}

// first[x] = min(first[x], index of the first byte of regions[x] = {address, bytes} that is not the pattern's), one
// block a region
.visible .entry bands(.param .u64 regions, .param .u64 first, .param .u64 pattern)
{
    .reg .pred %p<4>;
    .reg .u32 %r<8>;
    .reg .u64 %d<14>;
    ld.param.u64 %d1, [regions];
    ld.param.u64 %d10, [first];
    ld.param.u64 %d11, [pattern];
    mov.u32 %r1, %ctaid.x;
    mul.wide.u32 %d2, %r1, 16;
    add.u64 %d1, %d1, %d2;
    ld.global.u64 %d3, [%d1];
    ld.global.u64 %d4, [%d1+8];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %ntid.x;
    cvt.u64.u32 %d5, %r2;
    cvt.u64.u32 %d6, %r3;
NEXT:
    setp.ge.u64 %p1, %d5, %d4;
    @%p1 bra DONE;
    add.u64 %d7, %d3, %d5;
    add.u64 %d8, %d11, %d5;
    ld.global.u8 %r4, [%d7];
    ld.global.u8 %r5, [%d8];
    setp.ne.u32 %p2, %r4, %r5;
    @%p2 bra BROKEN;
    add.u64 %d5, %d5, %d6;
    bra NEXT;
BROKEN:
    cvt.u32.u64 %r6, %d5;
    mul.wide.u32 %d9, %r1, 4;
    add.u64 %d9, %d10, %d9;
    red.global.min.u32 [%d9], %r6;
DONE:
    ret;
}

// reads so many pieces of 16 bytes in strides of the grid; writes nothing, which no compiler could know
.visible .entry sweep(.param .u64 memory, .param .u64 pieces)
{
    .reg .pred %p<3>;
    .reg .u32 %r<12>;
    .reg .u64 %d<8>;
    ld.param.u64 %d1, [memory];
    ld.param.u64 %d2, [pieces];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mov.u32 %r4, %nctaid.x;
    mad.lo.u32 %r5, %r1, %r2, %r3;
    cvt.u64.u32 %d3, %r5;
    mul.wide.u32 %d4, %r4, %r2;
    mov.u32 %r6, 0;
NEXT:
    setp.ge.u64 %p1, %d3, %d2;
    @%p1 bra READ;
    shl.b64 %d5, %d3, 4;
    add.u64 %d5, %d1, %d5;
    ld.volatile.global.v4.u32 {%r7, %r8, %r9, %r10}, [%d5];
    xor.b32 %r6, %r6, %r7;
    add.u64 %d3, %d3, %d4;
    bra NEXT;
READ:
    setp.ne.u32 %p2, %r6, 0x5eed5eed;
    @%p2 bra DONE;
    st.global.u32 [%d1], %r6;
DONE:
    ret;
}

// reads and adds at random words of `memory` (words: a power of two) for so many nanoseconds
.visible .entry noise(.param .u64 memory, .param .u32 words, .param .u64 nanoseconds)
{
    .reg .pred %p<2>;
    .reg .u32 %r<10>;
    .reg .u64 %d<8>;
    ld.param.u64 %d1, [memory];
    ld.param.u32 %r1, [words];
    ld.param.u64 %d2, [nanoseconds];
    sub.u32 %r1, %r1, 1;
    mov.u64 %d3, %globaltimer;
    add.u64 %d3, %d3, %d2;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    mad.lo.u32 %r5, %r5, 2654435761, 12345;
AGAIN:
    mad.lo.u32 %r5, %r5, 1664525, 1013904223;
    shr.u32 %r6, %r5, 5;
    and.b32 %r6, %r6, %r1;
    mul.wide.u32 %d4, %r6, 4;
    add.u64 %d4, %d1, %d4;
    ld.volatile.global.u32 %r7, [%d4];
    add.u32 %r7, %r7, 1;
    red.global.add.u32 [%d4], %r7;
    mov.u64 %d5, %globaltimer;
    setp.lt.u64 %p1, %d5, %d3;
    @%p1 bra AGAIN;
    ret;
}
)";

OwnKernels::OwnKernels(const Driver& driver, CUstream stream, uint64_t l2_bytes)
    : driver_(driver), stream_(stream), l2_bytes_(l2_bytes), beside_(make_stream(driver)) {
    CUmodule module = nullptr;
    driver_.check(driver_.cuModuleLoadDataEx(&module, kOwnKernels, 0, nullptr, nullptr), "load the checking kernels");
    module_ = Module(driver_, module);
    for (const auto& [function, name] : {std::pair(&hash_, "hash"), std::pair(&bands_, "bands"),
                                         std::pair(&sweep_, "sweep"), std::pair(&noise_, "noise")})
        driver_.check(driver_.cuModuleGetFunction(function, module, name), "find a checking kernel");
}

/// At least so much device memory, kept for the next call; 0 where there is none.
CUdeviceptr OwnKernels::scratch(size_t bytes) {
    if (bytes > scratch_bytes_) {
        CUdeviceptr memory = 0;
        scratch_ = DeviceMemory();
        scratch_bytes_ = 0;
        if (driver_.cuMemAlloc(&memory, 2 * bytes) != CUDA_SUCCESS) return 0;
        scratch_ = DeviceMemory(driver_, memory);
        scratch_bytes_ = 2 * bytes;
    }
    return scratch_.get();
}

CUresult OwnKernels::launch(CUfunction kernel, CUstream stream, uint32_t x, uint32_t y,
                            std::span<void*> arguments) const {
    CUlaunchConfig config{};
    config.gridDimX = x;
    config.gridDimY = y;
    config.gridDimZ = 1;
    config.blockDimX = kThreads;
    config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream;
    return driver_.cuLaunchKernelEx(&config, kernel, arguments.data(), nullptr);
}

CUresult OwnKernels::hash(std::span<const Extent> extents, std::vector<uint64_t>& hashes) {
    hashes.assign(extents.size(), 0);
    for (size_t done = 0; done < extents.size(); done += kMostRegions) {
        const auto now = extents.subspan(done, std::min<size_t>(kMostRegions, extents.size() - done));
        const size_t result_bytes = now.size() * sizeof(uint64_t);
        CUdeviceptr results = scratch(result_bytes + now.size_bytes());
        if (results == 0) return CUDA_ERROR_OUT_OF_MEMORY;
        CUdeviceptr regions = results + result_bytes;
        uint64_t most = 0;
        for (const Extent& extent : now) most = std::max(most, extent.bytes);
        const auto blocks = static_cast<uint32_t>(std::clamp<uint64_t>(most / kBytesABlock, 1, kMostBlocks));
        CUresult result = driver_.cuMemsetD8Async(results, 0, result_bytes, stream_);
        if (result == CUDA_SUCCESS) result = driver_.cuMemcpyHtoDAsync(regions, now.data(), now.size_bytes(), stream_);
        std::array<void*, 2> arguments = {&regions, &results};
        if (result == CUDA_SUCCESS)
            result = launch(hash_, stream_, blocks, static_cast<uint32_t>(now.size()), arguments);
        if (result == CUDA_SUCCESS)
            result = driver_.cuMemcpyDtoHAsync(hashes.data() + done, results, result_bytes, stream_);
        if (result == CUDA_SUCCESS) result = driver_.cuStreamSynchronize(stream_);
        if (result != CUDA_SUCCESS) return result;
    }
    return CUDA_SUCCESS;
}

CUresult OwnKernels::compare(std::span<const Extent> extents, CUdeviceptr pattern, std::vector<uint32_t>& first) {
    first.assign(extents.size(), kIntact);
    if (extents.empty()) return CUDA_SUCCESS;
    CUdeviceptr regions = scratch(extents.size_bytes() + extents.size() * sizeof(uint32_t));
    if (regions == 0) return CUDA_ERROR_OUT_OF_MEMORY;
    CUdeviceptr results = regions + extents.size_bytes();
    CUresult result = driver_.cuMemsetD8Async(results, 0xff, extents.size() * sizeof(uint32_t), stream_);
    if (result == CUDA_SUCCESS)
        result = driver_.cuMemcpyHtoDAsync(regions, extents.data(), extents.size_bytes(), stream_);
    std::array<void*, 3> arguments = {&regions, &results, &pattern};
    if (result == CUDA_SUCCESS) result = launch(bands_, stream_, static_cast<uint32_t>(extents.size()), 1, arguments);
    if (result == CUDA_SUCCESS)
        result = driver_.cuMemcpyDtoHAsync(first.data(), results, first.size() * sizeof(uint32_t), stream_);
    return result == CUDA_SUCCESS ? driver_.cuStreamSynchronize(stream_) : result;
}

CUresult OwnKernels::sweep() {
    if (swept_bytes_ == 0) {
        CUdeviceptr memory = 0;
        swept_bytes_ = 3 * std::max<uint64_t>(l2_bytes_, 1 << 20) / 16 * 16;
        if (driver_.cuMemAlloc(&memory, swept_bytes_) != CUDA_SUCCESS) return CUDA_SUCCESS;
        swept_ = DeviceMemory(driver_, memory);
    }
    CUdeviceptr memory = swept_.get();
    if (memory == 0) return CUDA_SUCCESS;
    uint64_t pieces = swept_bytes_ / 16;
    std::array<void*, 2> arguments = {&memory, &pieces};
    return launch(sweep_, stream_, 1024, 1, arguments);
}

CUresult OwnKernels::disturb(uint32_t sm_count) {
    if (noisy_.get() == 0) {
        CUdeviceptr memory = 0;
        if (driver_.cuMemAlloc(&memory, kNoisyBytes) != CUDA_SUCCESS) return CUDA_SUCCESS;
        noisy_ = DeviceMemory(driver_, memory);
    }
    CUdeviceptr memory = noisy_.get();
    uint32_t words = kNoisyBytes / 4;
    uint64_t nanoseconds = kNoiseNs;
    std::array<void*, 3> arguments = {&memory, &words, &nanoseconds};
    return launch(noise_, beside_.get(), std::max(1u, sm_count / 2), 1, arguments);
}

CUresult OwnKernels::quiet() { return driver_.cuStreamSynchronize(beside_.get()); }

}  // namespace recuda::cuda
