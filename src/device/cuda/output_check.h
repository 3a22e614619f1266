// What becomes of the outputs of timed runs, between one sample and the next: hashed, held against what they must be,
// and wiped.
//
// A run that did nothing, or that copied what an earlier run had left, shows: when a sample begins no right output of
// its runs lies in any of their places. Wiping leaves dirty lines in the L2; a sweep over three times its size follows,
// so that a sample of cold runs begins with a clean cache that holds none of their data.
#pragma once

#include <optional>
#include <vector>

#include "device/cuda/driver.h"
#include "device/cuda/guarded_memory.h"
#include "device/cuda/own_kernels.h"
#include "device/device.h"

namespace recuda::cuda {

class OutputCheck {
 public:
    /// Throws Error for a request whose outputs are not one list a sequence. All must outlive this.
    OutputCheck(const Driver& driver, CUstream stream, const GuardedMemory& memory, OwnKernels& kernels,
                const TimingRequest& request);

    /// Whether there is anything to do.
    bool any() const { return checks() || !poisoned_.empty(); }
    bool checks() const { return !outputs_.empty(); }
    size_t sequences() const { return outputs_.size(); }

    /// Makes the outputs of `count` sequences from `first` on (round the end) and the workspace ready for a run. Waits.
    CUresult reset(size_t first, size_t count);
    /// Compares the outputs of those sequences, each of which has just run; `wrong` is the first that is not as wanted.
    CUresult check(size_t first, size_t count, std::optional<uint32_t>& wrong);

 private:
    struct Wanted {
        Extent extent;
        uint64_t hash;
        CUdeviceptr original;  // 0: poison
    };
    const std::vector<Wanted>& of(size_t sequence) const { return outputs_[sequence % outputs_.size()]; }

    const Driver& driver_;
    CUstream stream_;
    OwnKernels& kernels_;
    std::vector<std::vector<Wanted>> outputs_;
    std::vector<Extent> poisoned_;
    unsigned char poison_;
    bool sweeps_;
};

}  // namespace recuda::cuda
