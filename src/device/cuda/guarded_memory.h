// Buffers of the GPU between canaries: 4 KiB of a random pattern right before a buffer's first byte and right after its
// last, at a random multiple of 256 bytes within the allocation. A broken canary shows a write outside the buffer;
// reads outside and writes further away are not seen here (the virtual GPU sees them).
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/rng.h"
#include "device/cuda/driver.h"
#include "device/device.h"

namespace recuda::cuda {

class GuardedMemory {
 public:
    struct Buffer {
        std::string name;
        DeviceMemory memory;      // the whole allocation
        CUdeviceptr address = 0;  // of the buffer's first byte, a multiple of 256
        uint64_t bytes = 0;
    };

    /// Copies run in `stream`; both must outlive this.
    GuardedMemory(const Driver& driver, CUstream stream);

    /// Throws Error that names the buffer and the free memory when the GPU has none left.
    BufferId allocate(std::string name, uint64_t bytes);
    void free(BufferId buffer);
    /// Throws Error for an id that is not (any more) a buffer.
    const Buffer& at(BufferId buffer) const;
    /// Address of byte `offset` of a buffer; throws Error unless [offset, offset + bytes) lies in it.
    CUdeviceptr address(BufferId buffer, uint64_t offset, uint64_t bytes) const;

    /// One out_of_bounds report for each broken side of a buffer (at most 16), naming its first broken byte; the
    /// pattern is written again, so that the next run is not blamed. The stream must be idle.
    std::vector<Report> broken_canaries();

 private:
    void write_canaries(const Buffer& buffer);
    void add_report(const Buffer& buffer, bool after, const std::byte* found, std::vector<Report>& reports) const;

    const Driver& driver_;
    CUstream stream_;
    Rng random_;
    std::vector<std::byte> pattern_;
    HostMemory staging_;
    std::map<BufferId, Buffer> buffers_;
    BufferId next_ = 1;
};

}  // namespace recuda::cuda
