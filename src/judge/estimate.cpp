#include "judge/estimate.h"

#include <algorithm>

namespace recuda {
namespace {

// Rough figures of a large GPU (H100 and H200 class); ranking needs their proportions alone.
constexpr double kFirstLaunch = 1800, kNextLaunch = 900;  // queueing, block start-up, drain
constexpr double kIssueInterval = 0.6;                    // one instruction a scheduler and cycle
constexpr double kSchedulers = 4;                         // of an SM
constexpr double kDependentInstruction = 2;               // of one warp alone, some independent of their predecessors
constexpr double kRequest = 40;                           // of one warp: a tenth of the latency of memory, for many are under way
constexpr double kSharedWavefront = 1;
constexpr double kBarrier = 25, kAtomic = 8;
constexpr double kSectorBytes = 32;
constexpr double kBandwidth = 3500;                       // bytes a unit where the device does not state its own

double at_least_one(double value) { return std::max(1.0, value); }

}  // namespace

double estimate(const Counters& counters, const LaunchPlan& plan, const DeviceInfo& info) {
    const double sms = at_least_one(info.sm_count), launches = at_least_one(static_cast<double>(plan.launches.size()));
    double warps = 0;
    for (const PlannedLaunch& launch : plan.launches)
        warps += static_cast<double>(launch.grid.volume()) * static_cast<double>((launch.block.volume() + 31) / 32);
    warps = at_least_one(warps);
    const double blocks = at_least_one(static_cast<double>(counters.blocks)), blocks_a_launch = blocks / launches;
    const double sms_used = std::min(sms, at_least_one(blocks_a_launch));
    const double schedulers_used = std::min(kSchedulers * sms_used, warps / launches);

    const double sectors = static_cast<double>(counters.global_read.sectors + counters.global_write.sectors + counters.local.sectors);
    const double bandwidth = info.memory_bytes_per_ns > 0 ? info.memory_bytes_per_ns : kBandwidth;
    // An SM alone draws only a few times its share of the bandwidth.
    const double memory = sectors * kSectorBytes / (bandwidth * std::min(1.0, 2 * sms_used / sms));
    const double issue = static_cast<double>(counters.warp_instructions) * kIssueInterval / at_least_one(schedulers_used);
    const double shared = static_cast<double>(counters.shared_wavefronts) * kSharedWavefront / sms_used;

    // Requests of a warp that move less than its lanes could are as slow as full ones: wide accesses win here.
    const double requests = static_cast<double>(counters.global_read.requests + counters.global_write.requests + counters.local.requests);
    const double own_work = static_cast<double>(counters.warp_instructions) / warps * kDependentInstruction + requests / warps * kRequest +
                            static_cast<double>(counters.barriers) / blocks * kBarrier + static_cast<double>(counters.atomics) / blocks * kAtomic;
    return kFirstLaunch + (launches - 1) * kNextLaunch + own_work * launches + std::max(memory, issue) + shared;
}

}  // namespace recuda
