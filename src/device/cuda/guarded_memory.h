// Buffers of the GPU between guard bands: up to 4 KiB of a random pattern right before a buffer's first byte and right
// after its last. A broken band shows a write outside the buffer, of whatever distance it reaches.
//
// Two kinds of place. `allocate` puts a buffer at a random multiple of 256 bytes within an allocation of the driver's
// own: reads outside, and writes further away, are not seen. `allocate_guarded` gives it pages of its own with unmapped
// addresses around them and puts it against one end of those: every access beyond that end faults, but for the less
// than 256 bytes that a beginning at a multiple of 256 leaves over, which hold the pattern.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/rng.h"
#include "device/cuda/driver.h"
#include "device/cuda/mapped_memory.h"
#include "device/cuda/own_kernels.h"
#include "device/device.h"

namespace recuda::cuda {

class GuardedMemory {
 public:
    struct Buffer {
        std::string name;
        DeviceMemory memory;      // the whole allocation …
        MappedMemory pages;       // … or the whole mapping
        CUdeviceptr address = 0;  // of the buffer's first byte, a multiple of 256
        uint64_t bytes = 0;
        uint64_t before = 0, after = 0;  // bytes of its bands
    };

    /// Copies run in `stream`; all must outlive this.
    GuardedMemory(const Driver& driver, CUstream stream, OwnKernels& kernels);

    /// Throws Error that names the buffer and the free memory when the GPU has none left.
    BufferId allocate(std::string name, uint64_t bytes);
    /// As `allocate` on a GPU without virtual memory management.
    BufferId allocate_guarded(std::string name, uint64_t bytes, Guard guard);
    void free(BufferId buffer);
    /// Throws Error for an id that is not (any more) a buffer.
    const Buffer& at(BufferId buffer) const;
    /// Address of byte `offset` of a buffer; throws Error unless [offset, offset + bytes) lies in it.
    CUdeviceptr address(BufferId buffer, uint64_t offset, uint64_t bytes) const;
    Extent extent(const Region& region) const {
        return {address(region.buffer, region.offset_bytes, region.bytes), region.bytes};
    }

    /// One out_of_bounds report for each broken side of a buffer (at most 16), naming its first broken byte; the
    /// pattern is written again, so that the next run is not blamed. Waits for the stream; `failed` is its error.
    std::vector<Report> broken_canaries(CUresult& failed);

 private:
    BufferId keep(Buffer buffer);
    void write_canaries(const Buffer& buffer);
    Report report(const Buffer& buffer, bool after, uint32_t first) const;

    const Driver& driver_;
    CUstream stream_;
    OwnKernels& kernels_;
    Rng random_;
    std::vector<std::byte> pattern_;
    DeviceMemory pattern_there_;
    std::map<BufferId, Buffer> buffers_;
    BufferId next_ = 1;
};

}  // namespace recuda::cuda
