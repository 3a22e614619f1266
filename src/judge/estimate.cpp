#include "judge/estimate.h"

#include <algorithm>

namespace recuda {
namespace {

// Rough figures of a large GPU (H100 and H200 class); ranking needs their proportions alone.
constexpr double kFirstLaunch = 1800, kNextLaunch = 900;   // queueing, block start-up, drain
constexpr double kIssueInterval = 0.6;                     // one instruction a scheduler and cycle
constexpr double kSchedulers = 4;                          // of an SM
constexpr double kDependentInstruction = 2;                // of one warp alone, some independent of their predecessors
constexpr double kLatency = 400;                           // of a read, some from the L2
constexpr double kResidentWarps = 48, kReadsUnderWay = 8;  // of an SM; of a warp
constexpr double kSharedWavefront = 0.6;
constexpr double kBarrier = 25, kAtomic = 8;
constexpr double kSectorBytes = 32;
constexpr double kBandwidth = 3500;  // bytes a unit where the device does not state its own

double at_least_one(double value) { return std::max(1.0, value); }

/// What the whole run amounts to.
struct Work {
    double launches, blocks, warps;  // warps over all launches
    double sectors, read_requests, instructions, shared_wavefronts;
};

Work work_of(const Counters& counters, const LaunchPlan& plan, double scale) {
    uint64_t warps = 0;
    for (const PlannedLaunch& launch : plan.launches)
        warps += launch.grid.volume() * ((launch.block.volume() + 31) / 32);
    const auto scaled = [&](uint64_t count) { return static_cast<double>(count) * scale; };
    return {at_least_one(static_cast<double>(plan.launches.size())),
            at_least_one(scaled(counters.blocks)),
            at_least_one(scaled(warps)),
            scaled(counters.global_read.sectors + counters.global_write.sectors + counters.local.sectors),
            scaled(counters.global_read.requests + counters.local.requests),
            scaled(counters.warp_instructions),
            scaled(counters.shared_wavefronts)};
}

}  // namespace

double estimate(const Counters& counters, const LaunchPlan& plan, const DeviceInfo& info, double scale) {
    const Work work = work_of(counters, plan, scale);
    const double sms = std::min(at_least_one(info.sm_count), at_least_one(work.blocks / work.launches));
    const double warps_a_launch = work.warps / work.launches;
    const double schedulers = std::min(kSchedulers * sms, warps_a_launch);
    const double reads_of_a_warp = std::clamp(work.read_requests / work.warps, 1.0, kReadsUnderWay);
    const double under_way = reads_of_a_warp * std::min(warps_a_launch, kResidentWarps * sms);

    const double bandwidth = info.memory_bytes_per_ns > 0 ? info.memory_bytes_per_ns : kBandwidth;
    const double transfer = work.sectors * kSectorBytes / bandwidth;
    const double waiting = kLatency * std::max(work.launches, work.read_requests / at_least_one(under_way));
    const double issue = work.instructions * kIssueInterval / at_least_one(schedulers);
    const double conflicts = work.shared_wavefronts * kSharedWavefront / sms;

    // What one warp and one block do in turn, which nothing hides; counters are of the unscaled run.
    const double blocks = work.blocks / scale;
    const double own = work.instructions / work.warps * kDependentInstruction +
                       static_cast<double>(counters.barriers) / blocks * kBarrier +
                       static_cast<double>(counters.atomics) / blocks * kAtomic;
    return kFirstLaunch + (work.launches - 1) * kNextLaunch + own * work.launches +
           std::max({transfer, waiting, issue}) + conflicts;
}

}  // namespace recuda
