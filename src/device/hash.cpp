#include "device/hash.h"

#include <algorithm>
#include <cstring>

#include "device/device.h"

namespace recuda {
namespace {

uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

}  // namespace

uint64_t hash_of(std::span<const std::byte> bytes) {
    constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
    uint64_t sum = 0;
    for (size_t i = 0; i <= bytes.size() / 8; ++i) {
        uint64_t word = 0;
        const size_t count = std::min<size_t>(8, bytes.size() - 8 * i);
        if (count > 0) std::memcpy(&word, bytes.data() + 8 * i, count);
        sum += mix(word + (i + 1) * kStep);
    }
    return sum;
}

BufferId Device::allocate_guarded(std::string name, uint64_t bytes, Guard) { return allocate(std::move(name), bytes); }

std::vector<uint64_t> Device::hashes(std::span<const Region> regions) {
    std::vector<uint64_t> all;
    std::vector<std::byte> bytes;
    for (const Region& region : regions) {
        bytes.resize(region.bytes);
        read(region.buffer, region.offset_bytes, bytes);
        all.push_back(hash_of(bytes));
    }
    return all;
}

}  // namespace recuda
