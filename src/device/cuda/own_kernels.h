// Kernels of our own that check and prepare memory where it lies: hashes of regions, guard bands against their pattern,
// reading through the L2, and noise beside a run.
//
// They are PTX for every GPU that the driver serves, so that a worker needs no compiler.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/cuda/driver.h"

namespace recuda::cuda {

/// PTX of the entries `hash`, `bands`, `sweep` and `noise`; what they take is said there.
extern const char* const kOwnKernels;

/// As the kernels read it.
struct Extent {
    uint64_t address = 0, bytes = 0;
};

class OwnKernels {
 public:
    /// Work runs in `stream`; both must outlive this. `l2_bytes`: what a sweep has to turn over.
    OwnKernels(const Driver& driver, CUstream stream, uint64_t l2_bytes);

    /// Hashes (device/hash.h) of extents that begin at multiples of 8 bytes; waits for them.
    CUresult hash(std::span<const Extent> extents, std::vector<uint64_t>& hashes);

    /// Compares each extent with the beginning of `pattern`, in device memory and at least as long: index of the first
    /// byte that differs, or kIntact. Waits.
    static constexpr uint32_t kIntact = 0xffffffff;
    CUresult compare(std::span<const Extent> extents, CUdeviceptr pattern, std::vector<uint32_t>& first);

    /// Enqueues a read of three times the L2: what lay there before, dirty lines among it, is written back and gone.
    /// Where there is no memory for it, does nothing.
    CUresult sweep();

    /// Starts 200 us of reads and atomics on half of the SMs in a stream beside `stream`; `quiet` waits for their end.
    CUresult disturb(uint32_t sm_count);
    CUresult quiet();

 private:
    CUdeviceptr scratch(size_t bytes);
    CUresult launch(CUfunction kernel, CUstream stream, uint32_t x, uint32_t y, std::span<void*> arguments) const;

    const Driver& driver_;
    CUstream stream_;
    uint64_t l2_bytes_;
    Module module_;
    CUfunction hash_ = nullptr, bands_ = nullptr, sweep_ = nullptr, noise_ = nullptr;
    DeviceMemory scratch_, swept_, noisy_;
    size_t scratch_bytes_ = 0;
    uint64_t swept_bytes_ = 0;
    Stream beside_;
};

}  // namespace recuda::cuda
