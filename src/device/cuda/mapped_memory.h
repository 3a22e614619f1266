// Memory of the GPU with nothing before and behind it: whole pages of the driver's virtual memory management, mapped in
// the middle of a larger range of addresses. An access beyond the pages faults.
#pragma once

#include <cstdint>

#include "device/cuda/driver.h"

namespace recuda::cuda {

class MappedMemory {
 public:
    MappedMemory() = default;
    MappedMemory(MappedMemory&& other) noexcept { *this = std::move(other); }
    MappedMemory& operator=(MappedMemory&& other) noexcept;
    ~MappedMemory() { unmap(); }

    /// At least `bytes` on the current context's GPU. What the driver said where there is none.
    static CUresult map(const Driver& driver, uint64_t bytes, MappedMemory& memory);

    /// First byte; a multiple of the page size, usually 2 MiB.
    CUdeviceptr address() const { return reserved_ + margin_; }
    uint64_t bytes() const { return bytes_; }

 private:
    void unmap();

    const Driver* driver_ = nullptr;
    CUdeviceptr reserved_ = 0;
    uint64_t margin_ = 0, bytes_ = 0;
    bool mapped_ = false;
};

}  // namespace recuda::cuda
