#include "device/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace recuda {
namespace {

constexpr double kSectorBytes = 32, kLanes = 32, kWidestBytes = 16;
constexpr double kNoticeable = 0.05;  // share of the kernel below which a line is not spoken of
constexpr double kWasteful = 1.5;     // so many times what would do
constexpr double kIdleLanes = 0.7;    // share of lanes at work
constexpr double kDivergent = 0.25;   // share of a line's branches that split their warp
constexpr double kLowOccupancy = 0.5;
constexpr double kNarrowBytes = 4;     // a lane
constexpr double kNarrowShare = 0.25;  // of all requests
constexpr size_t kMostOfAKind = 3;

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }
double ratio(uint64_t part, uint64_t whole) { return ratio(static_cast<double>(part), static_cast<double>(whole)); }

struct Found {
    Advice advice;
    double waste = 0;  // share of the kernel's instructions, sectors or passes
};

class Reader {
 public:
    Reader(const Counters& counters, std::vector<Found>& found) : all_(counters), found_(found) {}

    void read(uint32_t number, const LineCounters& line) {
        number_ = number;
        sectors(line.global_read, "reads", "read");
        sectors(line.global_write, "writes", "write");
        narrow(line);
        banks(line);
        lanes(line);
        atomics(line);
        if (line.local.requests > 0)
            say("local", ratio(line.local.sectors, sectors_in_all()),
                fmt::format("{} bytes of local memory are used: an array that is indexed by data, or whose address is "
                            "taken, lies there instead of in registers; unroll its loops, or keep it in shared memory",
                            line.local.bytes));
        if (line.early_exits > 0)
            say("early_exit", 0,
                fmt::format("threads had returned before {} of {} arrivals at this barrier (no fault: they no longer "
                            "count); a warp that has returned only in part keeps its slot all the same",
                            line.early_exits, line.barrier_arrivals));
    }

 private:
    uint64_t sectors_in_all() const {
        return all_.global_read.sectors + all_.global_write.sectors + all_.local.sectors;
    }
    void say(const char* kind, double waste, std::string text) {
        found_.push_back({{number_, kind, std::move(text)}, waste});
    }

    void sectors(const Traffic& traffic, const char* does, const char* verb) {
        const double each = ratio(traffic.sectors, traffic.requests);
        const double would_do = std::max(1.0, ratio(traffic.bytes, traffic.requests) / kSectorBytes);
        const double share = ratio(traffic.sectors, sectors_in_all());
        if (each < kWasteful * would_do || share < kNoticeable) return;
        const double apart = each * kSectorBytes / kLanes;
        const std::string distance = apart > 30 ? "32 bytes or more" : fmt::format("about {:.0f} bytes", apart);
        say("sectors", share,
            fmt::format("{:.1f} sectors a request where {:.1f} would do: neighbouring threads {} {} apart; let them "
                        "take neighbouring elements, or bring the tile through shared memory (it {} {:.0f} % of the "
                        "kernel's sectors)",
                        each, would_do, verb, distance, does, 100 * share));
    }

    void narrow(const LineCounters& line) {
        const uint64_t requests = line.global_read.requests + line.global_write.requests;
        const uint64_t bytes = line.global_read.bytes + line.global_write.bytes;
        const uint64_t lanes = line.atomics > 0 ? 0 : requests * static_cast<uint64_t>(kLanes);
        const double width = ratio(bytes, lanes);
        const double share = ratio(requests, all_.global_read.requests + all_.global_write.requests);
        const bool whole = static_cast<double>(line.global_read.sectors + line.global_write.sectors) * kSectorBytes <
                           kWasteful * static_cast<double>(bytes);
        if (lanes == 0 || width > kNarrowBytes || !whole || share < kNarrowShare || requests < 64) return;
        say("narrow", share / 4,
            fmt::format("a lane moves {:.0f} byte{} a request: {:.0f} bytes (uint4, float4) would take {} of the "
                        "requests, and more of them would be under way at once",
                        std::max(1.0, width), width < 1.5 ? "" : "s", kWidestBytes,
                        width < 1.5 ? "a sixteenth"
                        : width < 3 ? "an eighth"
                                    : "a quarter"));
    }

    void banks(const LineCounters& line) {
        const double ways = ratio(line.shared_wavefronts, line.shared_ideal);
        const double share = ratio(line.shared_wavefronts - line.shared_ideal, all_.shared_wavefronts);
        if (ways < kWasteful || share < kNoticeable) return;
        say("banks", share * ratio(all_.shared_wavefronts, all_.warp_instructions),
            fmt::format("bank conflicts, {:.1f}-way: lanes of a request meet in one of the 32 banks; pad the row by "
                        "one element, or swizzle the index",
                        ways));
    }

    void lanes(const LineCounters& line) {
        const double at_work = ratio(line.thread_instructions, line.warp_instructions);
        const double share = ratio(line.warp_instructions, all_.warp_instructions);
        if (at_work < kIdleLanes * kLanes && share >= kNoticeable)
            say("lanes", share * (1 - at_work / kLanes),
                fmt::format("{:.1f} of 32 lanes work here ({:.0f} % of all instructions): give the idle lanes work, or "
                            "let whole warps leave",
                            at_work, 100 * share));
        const double split = ratio(line.divergent_branches, line.branches);
        if (split >= kDivergent && share >= kNoticeable)
            say("divergence", share * split / 2,
                fmt::format("{:.0f} % of the branches split their warp: both sides run one after the other; decide by "
                            "warp, not by lane",
                            100 * split));
    }

    void atomics(const LineCounters& line) {
        const double meeting = ratio(line.atomic_conflicts, line.atomics);
        if (meeting >= 0.5)
            say("atomics", ratio(line.atomics, all_.thread_instructions),
                fmt::format("{:.0f} % of the lanes' atomics meet another lane's at one address: reduce within the warp "
                            "first (shuffles, or __reduce_add_sync), then let one lane do it",
                            100 * meeting));
        else if (line.global_write.requests >= 64 && ratio(line.atomic_repeats, line.global_write.requests) >= 0.5)
            say("atomics", ratio(line.atomics, all_.thread_instructions),
                "most warps' atomics go to one address, one after another: reduce within the block first");
    }

    const Counters& all_;
    std::vector<Found>& found_;
    uint32_t number_ = 0;
};

void read_launch(const LaunchShape& launch, uint32_t sm_count, std::vector<Found>& found) {
    const auto say = [&](const char* kind, double waste, std::string text) {
        found.push_back({{0, kind, std::move(text)}, waste});
    };
    if (launch.spill_bytes > 0)
        say("spills", 0.3,
            fmt::format("{}: {} bytes a thread are spilled from registers to local memory; hold less at a time, or "
                        "allow more registers with __launch_bounds__",
                        launch.kernel, launch.spill_bytes));
    const Occupancy& occupancy = launch.occupancy;
    const std::string& limit = occupancy.limit;
    const bool fills = launch.blocks >= uint64_t{sm_count} * std::max(1u, occupancy.blocks);
    if (occupancy.share() <= kLowOccupancy && fills && (limit == "registers" || limit == "shared memory"))
        say("occupancy", 0.2 * (1 - occupancy.share()),
            fmt::format("{}: {} limit an SM to {} of {} warps ({:.0f} %): {} blocks of {} threads with {}",
                        launch.kernel, limit, occupancy.warps, occupancy.most_warps, 100 * occupancy.share(),
                        occupancy.blocks, launch.threads,
                        limit == "registers" ? fmt::format("{} registers a thread", launch.registers)
                                             : fmt::format("{} bytes of shared memory", launch.shared_bytes)));
    if (launch.blocks < sm_count)
        say("grid", 0.01,
            fmt::format("{}: {} block{} for {} SMs: the others have nothing to do at this size", launch.kernel,
                        launch.blocks, launch.blocks == 1 ? "" : "s", sm_count));
}

}  // namespace

std::vector<Advice> advice_on(const Counters& counters, std::span<const LaunchShape> launches, uint32_t sm_count) {
    std::vector<Found> found;
    Reader reader(counters, found);
    for (const auto& [number, line] : counters.lines) reader.read(number, line);
    for (const LaunchShape& launch : launches) read_launch(launch, sm_count, found);
    std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.waste > b.waste; });
    std::vector<Advice> advice;
    for (Found& one : found) {
        const auto same = std::count_if(advice.begin(), advice.end(),
                                        [&](const Advice& other) { return other.kind == one.advice.kind; });
        if (static_cast<size_t>(same) < kMostOfAKind) advice.push_back(std::move(one.advice));
    }
    return advice;
}

nlohmann::json to_json(const Advice& advice) {
    return {{"line", advice.line == 0 ? nlohmann::json() : nlohmann::json(advice.line)},
            {"kind", advice.kind},
            {"text", advice.text}};
}

nlohmann::json to_json(const LaunchShape& launch) {
    nlohmann::json json = to_json(launch.occupancy);
    json["kernel"] = launch.kernel;
    json["blocks"] = launch.blocks;
    json["threads"] = launch.threads;
    json["registers"] = launch.registers == 0 ? nlohmann::json() : nlohmann::json(launch.registers);
    json["shared_bytes"] = launch.shared_bytes;
    return json;
}

}  // namespace recuda
