#include "device/vgpu/memory/global.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/error.h"
#include "device/vgpu/memory/layout.h"

namespace recuda::vgpu {
namespace {

constexpr uint64_t kGap = 64u << 20;  // least distance between two buffers
constexpr uint64_t kLastAddress = 0x7fff'0000'0000;

/// Where the next buffer may begin: a copy of the buffer fits between, so that far overruns hit nothing.
uint64_t behind(const Buffer& buffer) {
    return (buffer.base + buffer.size + std::max(kGap, buffer.size) + 255) / 256 * 256;
}

void drop_shadow(Buffer& buffer) {
    buffer.shadow = nullptr;
    buffer.shadow_storage.reset();
}

}  // namespace

GlobalMemory::GlobalMemory(uint64_t seed) : cursor_(kGlobalBase), random_(seed * 0x9e3779b97f4a7c15u + 1) {}

Buffer& GlobalMemory::allocate(std::string name, uint64_t bytes) {
    auto buffer = std::make_unique<Buffer>();
    buffer->id = by_id_.size();
    buffer->name = std::move(name);
    // Starts are multiples of 256 and of nothing more, as parts of a larger allocation are.
    buffer->base = cursor_ + kGap + (random_() % (1u << 16)) * 512 + 256;
    buffer->size = bytes;
    if (buffer->base > kLastAddress) throw Error("the virtual GPU has no addresses left for buffer {}", buffer->name);
    if (bytes > (1ull << 40) || buffer->base + bytes > kLastAddress)
        throw Error("the virtual GPU cannot hold a buffer of {} bytes", bytes);
    cursor_ = behind(*buffer);
    try {
        buffer->data_storage.reset(new std::byte[bytes + 64]);
        buffer->data = buffer->data_storage.get();
        fill(*buffer, std::byte{0xa5}, true);
    } catch (const std::bad_alloc&) {
        throw Error("not enough memory for buffer {} of {} bytes", buffer->name, bytes);
    }
    by_id_.push_back(buffer.get());
    sorted_.push_back(std::move(buffer));  // bases only grow
    return *by_id_.back();
}

void GlobalMemory::free(uint32_t id) {
    const Buffer* buffer = &at(id);
    by_id_[id] = nullptr;
    std::erase_if(sorted_, [&](const auto& known) { return known.get() == buffer; });
    // A long run frees as much as it allocates: addresses behind the last buffer are used again.
    cursor_ = sorted_.empty() ? kGlobalBase : behind(*sorted_.back());
}

bool GlobalMemory::has(uint32_t id) const { return id < by_id_.size() && by_id_[id] != nullptr; }

Buffer& GlobalMemory::at(uint32_t id) {
    assert(has(id));
    return *by_id_[id];
}

Buffer* GlobalMemory::find(uint64_t address) const {
    const auto after = std::upper_bound(sorted_.begin(), sorted_.end(), address,
                                        [](uint64_t value, const auto& buffer) { return value < buffer->base; });
    if (after == sorted_.begin()) return nullptr;
    Buffer* buffer = std::prev(after)->get();
    return address - buffer->base < buffer->size ? buffer : nullptr;
}

Buffer* GlobalMemory::nearest(uint64_t address) const {
    const auto distance = [&](const Buffer& buffer) -> uint64_t {
        if (address < buffer.base) return buffer.base - address;
        return address - buffer.base < buffer.size ? 0 : address - buffer.base - buffer.size;
    };
    Buffer* best = nullptr;
    for (const auto& buffer : sorted_)
        if (distance(*buffer) <= std::max(kGap, buffer->size) &&
            (best == nullptr || distance(*buffer) < distance(*best)))
            best = buffer.get();
    return best;
}

void GlobalMemory::write(Buffer& buffer, uint64_t offset, std::span<const std::byte> bytes) {
    assert(offset <= buffer.size && bytes.size() <= buffer.size - offset);
    if (bytes.empty()) return;
    std::memcpy(buffer.data + offset, bytes.data(), bytes.size());
    if (bytes.size() == buffer.size)
        drop_shadow(buffer);
    else if (buffer.shadow != nullptr)
        std::memset(buffer.shadow + offset, 1, bytes.size());
}

void GlobalMemory::fill(Buffer& buffer, std::byte value, bool poison) {
    std::memset(buffer.data, std::to_integer<int>(value), buffer.size);
    if (!poison) return drop_shadow(buffer);
    buffer.shadow_storage.reset(new uint8_t[buffer.size + 64]());
    buffer.shadow = buffer.shadow_storage.get();
}

void GlobalMemory::settle() {
    for (const auto& buffer : sorted_)
        if (buffer->shadow != nullptr && std::memchr(buffer->shadow, 0, buffer->size) == nullptr) drop_shadow(*buffer);
}

void GlobalMemory::forget_races() {
    for (const auto& buffer : sorted_)
        if (buffer->races != nullptr) buffer->races->clear();
}

}  // namespace recuda::vgpu
