#include "judge/peak_kernels.h"

#include <algorithm>

#include "build/builder.h"
#include "device/device.h"

namespace recuda {
namespace {

constexpr uint64_t kMemoryShare = 16;  // memory over buffer
constexpr uint64_t kGranule = 4096, kVectorBytes = 16;
constexpr uint32_t kThreads = 512, kUnroll = 4;
constexpr std::byte kFill{0x5a};
// Matrix kernels: threads a block, rounds (a power of two keeps a run near 100 us on an H200), instructions a round.
constexpr uint32_t kMmaThreads = 256, kMmaRounds = 256, kWgmmaARound = 4, kMmaARound = 8;

// `sink` is written by no thread, which the compiler cannot know, so that every load must be done: the buffer is filled
// with one byte, whose 32-bit words are never the one asked for.
constexpr const char* kMemorySource = R"(
extern "C" __global__ void __launch_bounds__(THREADS)
peak_read(const uint4* __restrict__ from, unsigned vectors, unsigned* sink) {
    const unsigned step = gridDim.x * THREADS;
    unsigned seen = 0;
    for (unsigned i = blockIdx.x * THREADS + threadIdx.x; i < vectors; i += UNROLL * step) {
        uint4 v[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) v[k] = i + k * step < vectors ? from[i + k * step] : make_uint4(0, 0, 0, 0);
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) seen |= v[k].x | v[k].y | v[k].z | v[k].w;
    }
    if (seen == 0x12345678u) *sink = seen;
}
extern "C" __global__ void __launch_bounds__(THREADS)
peak_copy(const uint4* __restrict__ from, unsigned vectors, uint4* __restrict__ to) {
    const unsigned step = gridDim.x * THREADS;
    for (unsigned i = blockIdx.x * THREADS + threadIdx.x; i < vectors; i += UNROLL * step) {
        uint4 v[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) v[k] = i + k * step < vectors ? from[i + k * step] : make_uint4(0, 0, 0, 0);
#pragma unroll
        for (int k = 0; k < UNROLL; ++k)
            if (i + k * step < vectors) to[i + k * step] = v[k];
    }
}
)";

// Operands are numbers from 1 to 2 in bf16. Sums stay in registers and are stored by no thread, as above.
constexpr const char* kMmaSource = R"(
extern "C" __global__ void __launch_bounds__(THREADS) peak_mma(unsigned rounds, float* sink) {
    float sum[SUMS][4];
    unsigned a[4], b[2];
    for (int i = 0; i < 4; ++i) a[i] = 0x3f803f80u | ((threadIdx.x * 37 + i * 11) & 0x7fu) * 0x10001u;
    for (int i = 0; i < 2; ++i) b[i] = 0x3f803f80u | ((threadIdx.x * 53 + i * 29) & 0x7fu) * 0x10001u;
#pragma unroll
    for (int i = 0; i < SUMS; ++i) sum[i][0] = sum[i][1] = sum[i][2] = sum[i][3] = 0;
    for (unsigned round = 0; round < rounds; ++round)
#pragma unroll
        for (int i = 0; i < SUMS; ++i)
            asm volatile(
                "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                "{%0, %1, %2, %3};"
                : "+f"(sum[i][0]), "+f"(sum[i][1]), "+f"(sum[i][2]), "+f"(sum[i][3])
                : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    float all = 0;
#pragma unroll
    for (int i = 0; i < SUMS; ++i) all += sum[i][0] + sum[i][1] + sum[i][2] + sum[i][3];
    if (all == -1.0f) *sink = all;
}
)";

// Descriptors without swizzle: blocks of 8 rows x 16 bytes, 128 bytes apart along k and 256 along the rows (PTX ISA,
// "Matrix Descriptor").
constexpr const char* kWgmmaHead = R"(
__device__ unsigned long long descriptor(const void* at) {
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(at));
    return static_cast<unsigned long long>((address & 0x3ffffu) >> 4) | (128ull >> 4) << 16 | (256ull >> 4) << 32;
}
extern "C" __global__ void __launch_bounds__(THREADS) peak_mma(unsigned rounds, float* sink) {
    __shared__ __align__(1024) unsigned left[512], right[2048];
    for (unsigned i = threadIdx.x; i < 512; i += THREADS) left[i] = 0x3f803f80u | ((i * 37) & 0x7fu) * 0x10001u;
    for (unsigned i = threadIdx.x; i < 2048; i += THREADS) right[i] = 0x3f803f80u | ((i * 53) & 0x7fu) * 0x10001u;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    const unsigned long long a = descriptor(left), b = descriptor(right);
    float d[128];
#pragma unroll
    for (int i = 0; i < 128; ++i) d[i] = 0;
    for (unsigned round = 0; round < rounds; ++round) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int i = 0; i < SUMS; ++i)
)";
constexpr const char* kWgmmaTail = R"(
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    float all = 0;
#pragma unroll
    for (int i = 0; i < 128; ++i) all += d[i];
    if (all == -1.0f) *sink = all;
}
)";

std::string wgmma_source() {
    std::string names, operands;
    for (int i = 0; i < 128; ++i) {
        names += fmt::format("{}%{}", i == 0 ? "" : ", ", i);
        operands += fmt::format("{}\"+f\"(d[{}])", i == 0 ? "" : ", ", i);
    }
    return fmt::format(
        "{}            asm volatile(\"{{ .reg .pred p; setp.ne.b32 p, %130, 0; "
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {{{}}}, %128, %129, p, 1, 1, 0, 0; }}\" "
        ": {} : \"l\"(a), \"l\"(b), \"r\"(1));\n{}",
        kWgmmaHead, names, operands, kWgmmaTail);
}

Binary built(Builder& builder, std::string source, const std::string& target, bool cubin, uint32_t threads,
             uint32_t unroll, uint32_t sums) {
    BuildRequest request{.source = std::move(source), .file = "peaks.cu", .target = target};
    request.defines = {
        {"THREADS", std::to_string(threads)}, {"UNROLL", std::to_string(unroll)}, {"SUMS", std::to_string(sums)}};
    request.candidate = false;
    request.cubin = cubin;
    BuildResult result = builder.build(request);
    if (result.outcome != Outcome::correct) throw Error("peaks.cu is {}: {}", name(result.outcome), result.log);
    return std::move(result.binaries.at(0));
}

uint64_t buffer_bytes(const DeviceInfo& info, uint64_t caches) {
    uint64_t bytes = caches * std::max<uint64_t>(info.l2_bytes, kGranule);
    if (info.memory_bytes > 0) bytes = std::min(bytes, info.memory_bytes / kMemoryShare);
    return std::max(kGranule, bytes / kGranule * kGranule);
}

template <typename T>
Argument value_of(T value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    return {.value = {bytes.begin(), bytes.end()}};
}

/// Cards of data centres from Blackwell on have matrix instructions of their own (tcgen05) that `mma.sync` is no match
/// for.
bool mma_sync_is_full_rate(const std::string& target) {
    return target.starts_with("sm_8") || target.starts_with("sm_12");
}

}  // namespace

PeakKernels::PeakKernels(Device& device, Builder& builder, const std::string& target, uint64_t caches)
    : device_(device), buffers_(device), bytes_(buffer_bytes(device.info(), caches)) {
    const bool cubin = device.info().kind == DeviceKind::cuda;
    memory_ = device.load(built(builder, kMemorySource, target, cubin, kThreads, kUnroll, 1));
    load_mma(builder, target);
    for (const char* name : {"from", "to"}) device.fill(buffers_.add(name, bytes_), kFill, false);
}

PeakKernels::~PeakKernels() {
    for (const std::optional<ModuleId> module : {std::optional(memory_), mma_}) {
        try {
            if (module) device_.unload(*module);
        } catch (const Error&) {
            // A device that is gone has nothing loaded.
        }
    }
}

void PeakKernels::load_mma(Builder& builder, const std::string& target) {
    const bool cubin = device_.info().kind == DeviceKind::cuda;
    try {
        if (target == "sm_90" || target == "sm_90a") {
            mma_ = device_.load(built(builder, wgmma_source(), "sm_90a", cubin, kMmaThreads, 1, kWgmmaARound));
            mma_instruction_ = "wgmma m64n256k16 of bf16";
            mma_full_rate_ = true;
            mma_flops_ = 2.0 * 64 * 256 * 16 * kWgmmaARound * kMmaThreads / 128;
        } else {
            mma_ = device_.load(built(builder, kMmaSource, target, cubin, kMmaThreads, 1, kMmaARound));
            mma_instruction_ = "mma.sync m16n8k16 of bf16";
            mma_full_rate_ = mma_sync_is_full_rate(target);
            mma_flops_ = 2.0 * 16 * 8 * 16 * kMmaARound * kMmaThreads / 32;
        }
        mma_flops_ *= kMmaRounds;
    } catch (const DeviceLost&) {
        throw;
    } catch (const Error& error) {
        mma_problem_ = error.what();
    }
}

PeakKernels::Work PeakKernels::work(Kind kind) const {
    const auto whole = [](BufferId buffer) { return Argument{.kind = Argument::Kind::buffer, .buffer = buffer}; };
    const DeviceInfo& info = device_.info();
    Work work;
    if (kind == Kind::mma) {
        if (!mma_) throw Error("{}", mma_problem_);
        work.launch = {.module = *mma_, .entry = "peak_mma", .block = {kMmaThreads, 1, 1}};
        // As many blocks as are resident at once: one an SM with 128 sums a thread, four with fewer.
        const uint32_t blocks = std::max(1u, info.sm_count) * (mma_instruction_.starts_with("wgmma") ? 1 : 4);
        work.launch.grid = {blocks, 1, 1};
        work.launch.arguments = {value_of(kMmaRounds), whole(buffers_.at("to"))};
        work.amount = mma_flops_ * blocks;
        return work;
    }
    work.launch = {
        .module = memory_, .entry = kind == Kind::read ? "peak_read" : "peak_copy", .block = {kThreads, 1, 1}};
    work.launch.grid = {std::max(1u, info.sm_count) * std::max(1u, info.max_threads_per_sm / kThreads), 1, 1};
    work.launch.arguments = {whole(buffers_.at("from")), value_of(static_cast<uint32_t>(bytes_ / kVectorBytes)),
                             whole(buffers_.at("to"))};
    work.amount = static_cast<double>(kind == Kind::read ? bytes_ : 2 * bytes_);
    return work;
}

}  // namespace recuda
