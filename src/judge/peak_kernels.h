// Kernels of our own that do nothing but use one part of the card as well as it can be used: read and copy memory,
// multiply matrices. What they reach is what others are held against, and how steady they are tells how steady the card
// is.
//
// Memory: buffers of many times the L2 (at most a sixteenth of the memory each), every thread moves 16 bytes at a time,
// four at once; the grid fills the card and strides over the buffer. Matrices: bf16 with f32 sums, by `wgmma` of
// m64n256k16 out of shared memory where the card is an sm_90, two warpgroups an SM, else by `mma.sync` of m16n8k16 with
// eight independent sums a warp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "judge/run.h"

namespace recuda {

class Builder;

class PeakKernels {
 public:
    /// Builds and loads them, and makes buffers of so many times the L2. Throws Error where memory or compiler fail;
    /// `mma_problem` says why there is no matrix kernel.
    PeakKernels(Device& device, Builder& builder, const std::string& target, uint64_t caches);
    ~PeakKernels();
    PeakKernels(const PeakKernels&) = delete;

    enum class Kind { read, copy, mma };
    struct Work {
        Launch launch;
        double amount = 0;  // bytes moved, or floating-point operations, by one run
    };
    Work work(Kind kind) const;

    const std::string& mma_problem() const { return mma_problem_; }
    /// "wgmma m64n256k16" …
    const std::string& mma_instruction() const { return mma_instruction_; }
    /// Whether that instruction reaches what the card's matrix units can do at most.
    bool mma_full_rate() const { return mma_full_rate_; }

 private:
    void load_mma(Builder& builder, const std::string& target);

    Device& device_;
    Buffers buffers_;
    uint64_t bytes_ = 0;
    ModuleId memory_ = 0;
    std::optional<ModuleId> mma_;
    double mma_flops_ = 0;  // of one block
    std::string mma_problem_, mma_instruction_;
    bool mma_full_rate_ = false;
};

}  // namespace recuda
