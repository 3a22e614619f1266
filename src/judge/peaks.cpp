#include "judge/peaks.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "build/builder.h"
#include "device/device.h"
#include "judge/run.h"
#include "judge/statistics.h"

namespace recuda {
namespace {

constexpr uint64_t kCaches = 16;       // buffer over L2: what is left in the cache of a pass does not count
constexpr uint64_t kMemoryShare = 16;  // memory over buffer
constexpr uint64_t kGranule = 4096, kVectorBytes = 16;
constexpr uint32_t kThreads = 512, kUnroll = 4;
// An idle card needs some milliseconds to raise its clocks, hence the long warm-up; several runs a sample make the
// launch of 2 us small beside what is measured (200 us for 1 GB on an H200).
constexpr uint32_t kWarmups = 25, kSamples = 15, kRunsASample = 4;

// `sink` is written by no thread, which the compiler cannot know, so that every load must be done: the buffer is filled
// with one byte, whose 32-bit words are never the one asked for.
constexpr const char* kSource = R"(
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
constexpr std::byte kFill{0x5a};

Binary built(Builder& builder, const DeviceInfo& info, const std::string& target) {
    BuildRequest request{.source = kSource, .file = "peaks.cu", .target = target};
    request.defines = {{"THREADS", std::to_string(kThreads)}, {"UNROLL", std::to_string(kUnroll)}};
    request.candidate = false;
    request.cubin = info.kind == DeviceKind::cuda;
    BuildResult result = builder.build(request);
    if (result.outcome != Outcome::correct) throw Error("peaks.cu is {}: {}", name(result.outcome), result.log);
    return std::move(result.binaries.at(0));
}

uint64_t buffer_bytes(const DeviceInfo& info) {
    uint64_t bytes = kCaches * std::max<uint64_t>(info.l2_bytes, kGranule);
    if (info.memory_bytes > 0) bytes = std::min(bytes, info.memory_bytes / kMemoryShare);
    return std::max(kGranule, bytes / kGranule * kGranule);
}

template <typename T>
Argument value_of(T value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    return {.value = {bytes.begin(), bytes.end()}};
}

/// A loaded module that is unloaded at the end.
class Loaded {
 public:
    Loaded(Device& device, const Binary& binary) : device_(device), id_(device.load(binary)) {}
    ~Loaded() {
        try {
            device_.unload(id_);
        } catch (const Error&) {
            // A device that is gone has nothing loaded.
        }
    }
    Loaded(const Loaded&) = delete;
    ModuleId id() const { return id_; }

 private:
    Device& device_;
    ModuleId id_;
};

Bandwidth timed(Device& device, const Launch& launch, uint64_t bytes) {
    TimingRequest request{.sequences = {{launch}}, .samples = kSamples, .warmups = kWarmups};
    request.runs_per_sample = kRunsASample;
    request.deadline_s = 10;
    Timing timing = device.time(request);
    if (timing.outcome != Outcome::correct) throw Error("{} is {}: {}", launch.entry, name(timing.outcome), timing.log);
    const Median median = median_of(timing.samples_ns);
    if (median.low <= 0) throw Error("{} took no time", launch.entry);
    const auto moved = static_cast<double>(bytes);
    return {moved / median.value,
            moved / median.high,
            moved / median.low,
            bytes,
            std::move(timing.samples_ns),
            median_of(timing.clock_mhz).value,
            timing.method};
}

Peaks measured(Device& device, Builder& builder, const std::string& target) {
    const DeviceInfo& info = device.info();
    const uint64_t bytes = buffer_bytes(info);
    const Loaded module(device, built(builder, info, target));
    Buffers buffers(device);
    const BufferId from = buffers.add("from", bytes), to = buffers.add("to", bytes);
    device.fill(from, kFill, false);
    device.fill(to, kFill, false);
    const auto whole = [](BufferId buffer) { return Argument{.kind = Argument::Kind::buffer, .buffer = buffer}; };
    Launch launch{.module = module.id(), .entry = "peak_read", .block = {kThreads, 1, 1}};
    launch.grid = {std::max(1u, info.sm_count) * std::max(1u, info.max_threads_per_sm / kThreads), 1, 1};
    launch.arguments = {whole(from), value_of(static_cast<uint32_t>(bytes / kVectorBytes)), whole(to)};
    Peaks peaks;
    peaks.read = timed(device, launch, bytes);
    launch.entry = "peak_copy";
    peaks.copy = timed(device, launch, 2 * bytes);
    return peaks;
}

Json to_json(const Bandwidth& bandwidth) {
    Json samples = Json::array();
    for (const double sample : bandwidth.samples_ns) samples.push_back(json_number(sample));
    return {{"bytes_per_ns", json_number(bandwidth.bytes_per_ns)},
            {"low", json_number(bandwidth.low)},
            {"high", json_number(bandwidth.high)},
            {"bytes", bandwidth.bytes},
            {"samples_ns", std::move(samples)},
            {"clock_mhz", json_number(bandwidth.clock_mhz)},
            {"method", json_text(bandwidth.method)}};
}

}  // namespace

double Peaks::bytes_per_ns() const { return std::max(read.bytes_per_ns, copy.bytes_per_ns); }

Peaks measure_peaks(Device& device, Builder& builder, const std::string& target) {
    if (!device.info().measures_time) return {};
    try {
        return measured(device, builder, target);
    } catch (const Error& error) {
        Peaks none;
        none.problem = error.what();
        return none;
    }
}

Json to_json(const Peaks& peaks) {
    if (peaks.bytes_per_ns() == 0) return {{"problem", json_text(peaks.problem)}};
    return {{"bytes_per_ns", json_number(peaks.bytes_per_ns())},
            {"read", to_json(peaks.read)},
            {"copy", to_json(peaks.copy)}};
}

}  // namespace recuda
