// Global memory: named buffers at random multiples of 256 with wide gaps, each with a shadow that knows which bytes
// were written.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "device/vgpu/memory/race_shadow.h"

namespace recuda::vgpu {

struct Buffer {
    uint32_t id = 0;
    std::string name;
    uint64_t base = 0, size = 0;
    std::byte* data = nullptr;
    uint8_t* shadow = nullptr;  // a byte a byte, 1 where written; null once all of the buffer is
    bool constant = false;      // module variables in .const space
    bool of_module = false;     // a variable of a module
    bool is_input = false;      // no launch may store to it, and `stored` says whether one has
    std::atomic<bool> stored{false};
    bool followed = true;               // the launch may write it: its accesses are followed for races
    std::unique_ptr<RaceShadow> races;  // null until then

    std::unique_ptr<std::byte[]> data_storage;
    std::unique_ptr<uint8_t[]> shadow_storage;
};

class GlobalMemory {
 public:
    explicit GlobalMemory(uint64_t seed);

    Buffer& allocate(std::string name, uint64_t bytes);
    void free(uint32_t id);
    Buffer& at(uint32_t id);
    bool has(uint32_t id) const;

    /// The buffer that holds this address, or null.
    Buffer* find(uint64_t address) const;
    /// The buffer whose bounds are nearest to an address that lies in none, where it is near at all; else null.
    Buffer* nearest(uint64_t address) const;

    void write(Buffer& buffer, uint64_t offset, std::span<const std::byte> bytes);
    void fill(Buffer& buffer, std::byte value, bool poison);
    /// Drops the shadows of buffers that have been written completely.
    void settle();
    /// Says of each buffer whether its accesses are followed for races.
    template <typename F>
    void follow(F followed) {
        for (const auto& buffer : sorted_) buffer->followed = followed(*buffer);
    }
    void forget_races();

 private:
    std::vector<std::unique_ptr<Buffer>> sorted_;  // by base
    std::vector<Buffer*> by_id_;                   // null where freed
    uint64_t cursor_;
    std::mt19937_64 random_;
};

}  // namespace recuda::vgpu
