// Two small kernels of our own that timing needs: one that holds the stream until the host lets it go, and one that
// measures the SM clock.
#pragma once

#include <cstdint>

#include "device/cuda/driver.h"

namespace recuda::cuda {

class Probe {
 public:
    explicit Probe(const Driver& driver);

    /// Enqueues a kernel that keeps `stream` from going on until `release`, at most 100 ms (a queue that is full before
    /// the host comes to release it would wait for ever).
    void hold(CUstream stream);
    void release();
    /// After the stream has gone on: whether the last hold ended by its limit and not by `release`.
    bool expired() const;

    /// Enqueues a kernel that counts SM cycles over 20 us of the GPU's nanosecond timer, from tick to tick.
    void measure_clock(CUstream stream);
    /// The result, once the stream has passed it.
    double clock_mhz() const;

 private:
    // What kernels and host share, in page-locked memory.
    struct Shared {
        uint32_t open, expired;
        uint64_t cycles, nanoseconds;
    };
    volatile Shared& shared() const { return *static_cast<volatile Shared*>(memory_.get()); }
    void launch(CUfunction kernel, CUstream stream);

    const Driver& driver_;
    Module module_;
    HostMemory memory_;
    CUdeviceptr address_ = 0;
    CUfunction hold_ = nullptr, clock_ = nullptr;
};

}  // namespace recuda::cuda
