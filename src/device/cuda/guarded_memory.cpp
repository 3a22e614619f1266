#include "device/cuda/guarded_memory.h"

#include <algorithm>
#include <cstring>
#include <random>

namespace recuda::cuda {
namespace {

constexpr uint64_t kCanaryBytes = 4096;
constexpr uint64_t kAlignment = 256, kPlaces = 32;  // a buffer begins at one of so many multiples of the alignment
constexpr size_t kBuffersAtOnce = 64;               // whose canaries come back in one wait
constexpr size_t kReportLimit = 16;

uint64_t entropy() {
    std::random_device device;
    return uint64_t{device()} << 32 | device();
}

}  // namespace

GuardedMemory::GuardedMemory(const Driver& driver, CUstream stream)
    : driver_(driver),
      stream_(stream),
      random_(entropy()),
      pattern_(kCanaryBytes),
      staging_(make_host_memory(driver, kBuffersAtOnce * 2 * kCanaryBytes)) {
    for (std::byte& byte : pattern_) byte = static_cast<std::byte>(random_.next() >> 56);
}

BufferId GuardedMemory::allocate(std::string name, uint64_t bytes) {
    const uint64_t place = kAlignment * random_.below(kPlaces);
    CUdeviceptr base = 0;
    const CUresult result = driver_.cuMemAlloc(&base, kPlaces * kAlignment + bytes + 2 * kCanaryBytes);
    if (result != CUDA_SUCCESS) {
        size_t free = 0, total = 0;
        driver_.cuMemGetInfo(&free, &total);
        throw Error("cannot allocate {} bytes of GPU memory for `{}` ({} of {} bytes are free): {}", bytes, name, free,
                    total, driver_.words(result));
    }
    Buffer buffer{std::move(name), DeviceMemory(driver_, base), base + place + kCanaryBytes, bytes};
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
    for (const CUdeviceptr place : {buffer.address - kCanaryBytes, buffer.address + buffer.bytes})
        driver_.check(driver_.cuMemcpyHtoDAsync(place, pattern_.data(), kCanaryBytes, stream_), "write guard bands");
}

void GuardedMemory::add_report(const Buffer& buffer, bool after, const std::byte* found,
                               std::vector<Report>& reports) const {
    if (std::memcmp(found, pattern_.data(), kCanaryBytes) == 0 || reports.size() == kReportLimit) return;
    const int64_t first = std::mismatch(pattern_.begin(), pattern_.end(), found).first - pattern_.begin();
    Report report;
    report.check = Check::out_of_bounds;
    report.buffer = buffer.name;
    report.byte_offset =
        after ? static_cast<int64_t>(buffer.bytes) + first : first - static_cast<int64_t>(kCanaryBytes);
    report.message = fmt::format(
        "a write outside buffer `{}` of {} bytes: the guard band {} it was changed, first at byte {} of the buffer",
        buffer.name, buffer.bytes, after ? "after" : "before", report.byte_offset);
    reports.push_back(std::move(report));
}

std::vector<Report> GuardedMemory::broken_canaries() {
    std::vector<Report> reports;
    auto* const staging = static_cast<std::byte*>(staging_.get());
    for (auto next = buffers_.begin(); next != buffers_.end();) {
        std::vector<const Buffer*> batch;
        for (; next != buffers_.end() && batch.size() < kBuffersAtOnce; ++next) {
            std::byte* to = staging + batch.size() * 2 * kCanaryBytes;
            const Buffer& buffer = next->second;
            driver_.check(driver_.cuMemcpyDtoHAsync(to, buffer.address - kCanaryBytes, kCanaryBytes, stream_),
                          "read guard bands");
            driver_.check(
                driver_.cuMemcpyDtoHAsync(to + kCanaryBytes, buffer.address + buffer.bytes, kCanaryBytes, stream_),
                "read guard bands");
            batch.push_back(&buffer);
        }
        driver_.check(driver_.cuStreamSynchronize(stream_), "read guard bands");
        for (size_t i = 0; i < batch.size(); ++i) {
            const std::byte* found = staging + i * 2 * kCanaryBytes;
            const size_t before = reports.size();
            add_report(*batch[i], false, found, reports);
            add_report(*batch[i], true, found + kCanaryBytes, reports);
            if (reports.size() > before) write_canaries(*batch[i]);
        }
    }
    driver_.check(driver_.cuStreamSynchronize(stream_), "write guard bands");
    return reports;
}

}  // namespace recuda::cuda
