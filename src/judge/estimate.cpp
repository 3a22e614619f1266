#include "judge/estimate.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "device/occupancy.h"

namespace recuda {
namespace {

constexpr double kSectorBytes = 32, kSchedulers = 4;
constexpr double kClockMhz = 1980, kBandwidth = 4800;  // an H200's, where the device does not state its own

double at_least_one(double value) { return std::max(1.0, value); }

/// One launch of the whole run, with what was counted of it. `part` of the counters are its.
struct Work {
    const LaunchCounters& counted;
    double scale;  // of the counters
    double blocks, resident, working_warps;

    double of(uint64_t count) const { return static_cast<double>(count) * scale; }
};

Work work_of(const LaunchCounters& counted, const PlannedLaunch& launch, const EstimatedRun& run, double part) {
    const auto threads = static_cast<uint32_t>(launch.block.volume());
    const Occupancy occupancy = occupancy_of({.threads = threads, .shared_bytes = launch.shared_bytes}, run.info);
    const uint64_t warps_of_block = (threads + 31) / 32;
    const auto warps = static_cast<double>(launch.grid.volume() * warps_of_block);
    const double working = static_cast<double>(counted.working_warps) * part;
    return {counted, run.scale * part, at_least_one(static_cast<double>(launch.grid.volume()) * run.scale),
            at_least_one(occupancy.blocks), at_least_one(working == 0 ? warps : std::min(working, warps)) * run.scale};
}

/// Cycles that one warp waits and issues by itself.
double serial_cycles(const Work& work, const EstimateConstants& constants) {
    const Chain& chain = work.counted.chain;
    const std::pair<int64_t, double> steps[] = {
        {chain.arithmetic, constants.arithmetic},
        {chain.special, constants.special},
        {chain.warp, constants.warp},
        {chain.shared, constants.shared},
        {chain.global, constants.global},
        {chain.barrier, constants.barrier},
        {chain.tensor, constants.tensor},
        {chain.branch, constants.branch},
    };
    double cycles = work.of(work.counted.issue_cycles) * constants.own_issue;
    for (const auto& [count, each] : steps)
        cycles += static_cast<double>(std::max<int64_t>(0, count)) * work.scale * each;
    return constants.block + cycles / work.working_warps;
}

double launch_ns(const Work& work, const EstimatedRun& run, const EstimateConstants& constants) {
    const LaunchCounters& counted = work.counted;
    const double sms = at_least_one(run.info.sm_count);
    const double clock = (run.info.clock_mhz > 0 ? run.info.clock_mhz : kClockMhz) / 1000;
    const double bandwidth = run.info.memory_bytes_per_ns > 0 ? run.info.memory_bytes_per_ns : kBandwidth;
    const double busiest = std::ceil(work.blocks / sms) / work.blocks;  // the share of the SM with most blocks
    const double waves = at_least_one(work.blocks / (sms * work.resident));
    const double requests =
        work.of(counted.global_read.requests + counted.global_write.requests + counted.local.requests);
    const double sectors = work.of(counted.global_read.sectors + counted.global_write.sectors);
    const double traffic = sectors * kSectorBytes;
    const double through_memory = run.least_bytes > 0 ? std::min(traffic, run.least_bytes * run.scale) : traffic;
    const double on_sm[] = {
        work.of(counted.issue_cycles) * constants.issue / kSchedulers,
        requests * constants.request + sectors * constants.sector +
            work.of(counted.local.sectors) * constants.local_sector,
        work.of(counted.shared_wavefronts) * constants.passes,
        static_cast<double>(counted.chain.tensor) * work.scale * constants.tensor_issue,
    };
    std::vector<double> terms{
        waves * serial_cycles(work, constants) / clock,
        through_memory / (bandwidth * constants.memory_share),
        traffic / (constants.l2_bytes * sms),
        work.of(counted.atomics) * constants.atomic_ns + work.of(counted.atomic_repeats) * constants.repeat_ns,
        work.blocks * constants.start_ns,
    };
    for (const double cycles : on_sm) terms.push_back(std::max(0.0, cycles) * busiest / clock);
    const double most = *std::max_element(terms.begin(), terms.end());
    double sum = 0;
    for (const double term : terms) sum += std::pow(term / most, constants.norm);
    return most * std::pow(sum, 1 / constants.norm);
}

}  // namespace

double estimate(const EstimatedRun& run, const EstimateConstants& constants) {
    const std::vector<PlannedLaunch>& launches = run.plan.launches;
    const bool each = run.counters.launches.size() == launches.size();
    const auto cleared = std::count_if(run.plan.scratch.begin(), run.plan.scratch.end(),
                                       [](const PlannedScratch& scratch) { return scratch.zeroed; });
    const double further = static_cast<double>(launches.size() + static_cast<size_t>(cleared)) - 1;
    double sum = constants.launch_ns + std::max(0.0, further) * constants.next_launch_ns;
    for (size_t i = 0; i < launches.size(); ++i) {
        const LaunchCounters& counted = each ? run.counters.launches[i] : run.counters;
        const double part = each ? 1 : 1 / static_cast<double>(launches.size());
        sum += launch_ns(work_of(counted, launches[i], run, part), run, constants);
    }
    return sum;
}

}  // namespace recuda
