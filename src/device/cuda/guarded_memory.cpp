#include "device/cuda/guarded_memory.h"

#include <algorithm>
#include <random>

namespace recuda::cuda {
namespace {

constexpr uint64_t kCanaryBytes = 4096;
constexpr uint64_t kAlignment = 256, kPlaces = 32;  // a buffer begins at one of so many multiples of the alignment
constexpr size_t kReportLimit = 16;

uint64_t entropy() {
    std::random_device device;
    return uint64_t{device()} << 32 | device();
}

uint64_t aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

[[noreturn]] void no_memory(const Driver& driver, CUresult result, const std::string& name, uint64_t bytes) {
    size_t free = 0, total = 0;
    driver.cuMemGetInfo(&free, &total);
    throw Error("cannot allocate {} bytes of GPU memory for `{}` ({} of {} bytes are free): {}", bytes, name, free,
                total, driver.words(result));
}

}  // namespace

GuardedMemory::GuardedMemory(const Driver& driver, CUstream stream, OwnKernels& kernels)
    : driver_(driver), stream_(stream), kernels_(kernels), random_(entropy()), pattern_(kCanaryBytes) {
    for (std::byte& byte : pattern_) byte = static_cast<std::byte>(random_.next() >> 56);
    CUdeviceptr memory = 0;
    driver_.check(driver_.cuMemAlloc(&memory, kCanaryBytes), "allocate the guard bands' pattern");
    pattern_there_ = DeviceMemory(driver_, memory);
    driver_.check(driver_.cuMemcpyHtoDAsync(memory, pattern_.data(), kCanaryBytes, stream_), "write guard bands");
}

BufferId GuardedMemory::allocate(std::string name, uint64_t bytes) {
    const uint64_t place = kAlignment * random_.below(kPlaces);
    CUdeviceptr base = 0;
    const CUresult result = driver_.cuMemAlloc(&base, kPlaces * kAlignment + bytes + 2 * kCanaryBytes);
    if (result != CUDA_SUCCESS) no_memory(driver_, result, name, bytes);
    Buffer buffer{.name = std::move(name), .memory = DeviceMemory(driver_, base)};
    buffer.address = base + place + kCanaryBytes;
    buffer.bytes = bytes;
    buffer.before = buffer.after = kCanaryBytes;
    return keep(std::move(buffer));
}

BufferId GuardedMemory::allocate_guarded(std::string name, uint64_t bytes, Guard guard) {
    Buffer buffer{.name = name};
    const CUresult result = MappedMemory::map(driver_, aligned(bytes), buffer.pages);
    if (result == CUDA_ERROR_NOT_SUPPORTED) return allocate(std::move(name), bytes);
    if (result != CUDA_SUCCESS) no_memory(driver_, result, name, bytes);
    const uint64_t rest = buffer.pages.bytes() - aligned(bytes);
    buffer.address = buffer.pages.address() + (guard == Guard::after ? rest : 0);
    buffer.bytes = bytes;
    buffer.before = guard == Guard::after ? std::min(kCanaryBytes, rest) : 0;
    const uint64_t gap = aligned(bytes) - bytes;
    buffer.after = guard == Guard::after ? gap : std::min(kCanaryBytes, gap + rest);
    return keep(std::move(buffer));
}

BufferId GuardedMemory::keep(Buffer buffer) {
    write_canaries(buffer);
    driver_.check(driver_.cuStreamSynchronize(stream_), "write guard bands");
    buffers_.emplace(next_, std::move(buffer));
    return next_++;
}

void GuardedMemory::free(BufferId buffer) {
    if (buffers_.erase(buffer) == 0) throw Error("there is no buffer {}", buffer);
}

const GuardedMemory::Buffer& GuardedMemory::at(BufferId buffer) const {
    const auto found = buffers_.find(buffer);
    if (found == buffers_.end()) throw Error("there is no buffer {}", buffer);
    return found->second;
}

CUdeviceptr GuardedMemory::address(BufferId buffer, uint64_t offset, uint64_t bytes) const {
    const Buffer& found = at(buffer);
    if (offset > found.bytes || bytes > found.bytes - offset)
        throw Error("bytes {} to {} are outside buffer `{}` of {} bytes", offset, offset + bytes, found.name,
                    found.bytes);
    return found.address + offset;
}

void GuardedMemory::write_canaries(const Buffer& buffer) {
    const auto write = [&](CUdeviceptr at, uint64_t bytes) {
        if (bytes == 0) return;
        driver_.check(driver_.cuMemcpyDtoDAsync(at, pattern_there_.get(), bytes, stream_), "write guard bands");
    };
    write(buffer.address - buffer.before, buffer.before);
    write(buffer.address + buffer.bytes, buffer.after);
}

Report GuardedMemory::report(const Buffer& buffer, bool after, uint32_t first) const {
    Report report;
    report.check = Check::out_of_bounds;
    report.buffer = buffer.name;
    report.byte_offset = after ? static_cast<int64_t>(buffer.bytes) + first
                               : static_cast<int64_t>(first) - static_cast<int64_t>(buffer.before);
    report.message = fmt::format(
        "a write outside buffer `{}` of {} bytes: the guard band {} it was changed, first at byte {} of the buffer",
        buffer.name, buffer.bytes, after ? "after" : "before", report.byte_offset);
    return report;
}

std::vector<Report> GuardedMemory::broken_canaries(CUresult& failed) {
    struct Band {
        const Buffer* buffer;
        bool after;
    };
    std::vector<Band> bands;
    std::vector<Extent> extents;
    for (const auto& [id, buffer] : buffers_) {
        bands.push_back({&buffer, false});
        extents.push_back({buffer.address - buffer.before, buffer.before});
        bands.push_back({&buffer, true});
        extents.push_back({buffer.address + buffer.bytes, buffer.after});
    }
    std::vector<uint32_t> first;
    failed = kernels_.compare(extents, pattern_there_.get(), first);
    std::vector<Report> reports;
    if (failed != CUDA_SUCCESS) return reports;
    for (size_t i = 0; i < bands.size(); ++i) {
        if (first[i] == OwnKernels::kIntact) continue;
        write_canaries(*bands[i].buffer);
        if (reports.size() < kReportLimit) reports.push_back(report(*bands[i].buffer, bands[i].after, first[i]));
    }
    if (!reports.empty()) failed = driver_.cuStreamSynchronize(stream_);
    return reports;
}

}  // namespace recuda::cuda
