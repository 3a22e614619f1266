// A pair of kernels of our own, one bound by memory and one by arithmetic, that is timed again and again within a
// session: where they are not as fast as they were, the card has changed, and what was measured beside them proves
// nothing. Cards have slow states that no driver reports (an integrated one was seen to run one kernel at a third of
// its speed while copies went on as before), so both halves are needed.
#pragma once

#include <memory>
#include <span>
#include <string>

namespace recuda {

class Builder;
class Device;
class PeakKernels;

/// Median times of one round. `compute_ns` is 0 where the card has no matrix kernel of ours.
struct CanaryTimes {
    double memory_ns = 0, compute_ns = 0;
};

class Canaries {
 public:
    /// Builds and loads both. Throws Error where that fails.
    Canaries(Device& device, Builder& builder, const std::string& target);
    ~Canaries();

    /// One round, about a millisecond. Throws Error where they do not run.
    CanaryTimes time();

 private:
    double time_of(bool compute);

    Device& device_;
    std::unique_ptr<PeakKernels> kernels_;
};

/// Why the session is void, "" where it is not: a round that lies farther than `tolerance` from the median of all
/// rounds of the session. Rounds belong before, between and after what is measured.
std::string canary_deviation(std::span<const CanaryTimes> session, double tolerance = 0.03);

}  // namespace recuda
