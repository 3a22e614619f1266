#include "judge/canaries.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "judge/peak_kernels.h"
#include "judge/statistics.h"

namespace recuda {
namespace {

constexpr uint64_t kCaches = 4;
constexpr uint32_t kWarmups = 2, kSamples = 7;

std::string deviation(std::span<const CanaryTimes> session, double CanaryTimes::*half, const char* what,
                      double tolerance) {
    std::vector<double> all;
    for (const CanaryTimes& times : session) all.push_back(times.*half);
    const double median = median_of(all).value;
    for (size_t i = 0; i < all.size() && median > 0; ++i) {
        const double off = all[i] / median - 1;
        if (std::fabs(off) > tolerance)
            return fmt::format("the {} canary took {:.1f} us in round {} of {}, {:+.1f} % from the session's {:.1f} us",
                               what, all[i] / 1000, i + 1, all.size(), 100 * off, median / 1000);
    }
    return "";
}

}  // namespace

Canaries::Canaries(Device& device, Builder& builder, const std::string& target)
    : device_(device), kernels_(std::make_unique<PeakKernels>(device, builder, target, kCaches)) {}
Canaries::~Canaries() = default;

CanaryTimes Canaries::time() { return {time_of(false), kernels_->mma_problem().empty() ? time_of(true) : 0}; }

double Canaries::time_of(bool compute) {
    const PeakKernels::Work work = kernels_->work(compute ? PeakKernels::Kind::mma : PeakKernels::Kind::read);
    const TimingRequest request{
        .sequences = {{work.launch}}, .samples = kSamples, .warmups = kWarmups, .deadline_s = 10};
    const Timing timing = device_.time(request);
    if (timing.outcome != Outcome::correct)
        throw Error("the {} canary is {}: {}", compute ? "compute" : "memory", name(timing.outcome), timing.log);
    return median_of(timing.samples_ns).value;
}

std::string canary_deviation(std::span<const CanaryTimes> session, double tolerance) {
    const std::string memory = deviation(session, &CanaryTimes::memory_ns, "memory", tolerance);
    return memory.empty() ? deviation(session, &CanaryTimes::compute_ns, "compute", tolerance) : memory;
}

}  // namespace recuda
