#include "device/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "device/device.h"
#include "kernel/binary.h"

namespace recuda {
namespace {

constexpr size_t kHotLines = 10, kSourceColumns = 100;
constexpr const char *kBold = "\033[1m", *kFaint = "\033[2m", *kPlain = "\033[0m";

double ratio(uint64_t part, uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

uint64_t sectors(const LineCounters& line) {
    return line.global_read.sectors + line.global_write.sectors + line.local.sectors;
}

/// The largest of a line's shares of instructions, sectors and passes over the banks.
double heat(const LineCounters& line, const Counters& all) {
    return std::max({ratio(line.warp_instructions, all.warp_instructions), ratio(sectors(line), sectors(all)),
                     ratio(line.shared_wavefronts, all.shared_wavefronts) *
                         std::min(1.0, ratio(all.shared_wavefronts, all.warp_instructions))});
}

/// "4.0 of 4.0", or nothing where the line has no such traffic.
std::string per_request(const LineCounters& line) {
    Traffic traffic = line.global_read;
    traffic.add(line.global_write);
    if (traffic.requests == 0) return "";
    return fmt::format("{:.1f} ({:.1f})", ratio(traffic.sectors, traffic.requests),
                       std::max(1.0, ratio(traffic.bytes, traffic.requests) / 32));
}

std::string passes(const LineCounters& line) {
    if (line.shared_requests == 0) return "";
    return fmt::format("{:.1f} ({:.1f})", ratio(line.shared_wavefronts, line.shared_requests),
                       ratio(line.shared_ideal, line.shared_requests));
}

std::string traffic_text(const char* name, const Traffic& traffic) {
    if (traffic.requests == 0) return "";
    return fmt::format("  {:<14} {} bytes in {} requests, {:.1f} sectors of 32 bytes each\n", name, traffic.bytes,
                       traffic.requests, ratio(traffic.sectors, traffic.requests));
}

std::string mix_text(const Counters& counters) {
    std::vector<std::pair<std::string, uint64_t>> kinds(counters.mix.begin(), counters.mix.end());
    std::stable_sort(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    std::vector<std::string> parts;
    for (const auto& [kind, count] : kinds)
        if (const double share = ratio(count, counters.thread_instructions); share >= 0.01)
            parts.push_back(fmt::format("{} {:.0f} %", kind, 100 * share));
    return fmt::format("  {:<14} {}\n", "mix", joined(parts, ", "));
}

std::string summary(const Counters& counters) {
    std::string text = fmt::format("  {:<14} {} by {} threads of {} blocks, {:.1f} of 32 lanes active\n",
                                   "instructions", counters.thread_instructions, counters.threads, counters.blocks,
                                   ratio(counters.thread_instructions, counters.warp_instructions));
    text += mix_text(counters);
    text += traffic_text("global reads", counters.global_read) + traffic_text("global writes", counters.global_write) +
            traffic_text("local memory", counters.local);
    if (counters.shared_requests > 0)
        text +=
            fmt::format("  {:<14} {} requests, {:.2f} passes over the banks each; {:.2f} would do\n", "shared memory",
                        counters.shared_requests, ratio(counters.shared_wavefronts, counters.shared_requests),
                        ratio(counters.shared_ideal, counters.shared_requests));
    if (counters.branches > 0)
        text += fmt::format("  {:<14} {} by warps, {:.0f} % of them split the warp\n", "branches", counters.branches,
                            100 * ratio(counters.divergent_branches, counters.branches));
    if (counters.atomics + counters.barriers > 0)
        text += fmt::format("  {:<14} {} atomics of lanes, {} barriers of blocks\n", "order", counters.atomics,
                            counters.barriers);
    return text;
}

std::string occupancy_text(const LaunchShape& launch) {
    const Occupancy& occupancy = launch.occupancy;
    std::string text =
        fmt::format("  {:<14} {}: {} of {} warps an SM ({:.0f} %), {} blocks of {} threads{}\n", "occupancy",
                    launch.kernel, occupancy.warps, occupancy.most_warps, 100 * occupancy.share(), occupancy.blocks,
                    launch.threads, occupancy.limit.empty() ? "" : "; limited by " + occupancy.limit);
    text +=
        launch.registers > 0
            ? fmt::format("  {:<14} {} registers a thread, {} bytes spilled, {} bytes of shared memory a block\n", "",
                          launch.registers, launch.spill_bytes, launch.shared_bytes)
            : fmt::format("  {:<14} registers not known, {} bytes of shared memory a block\n", "", launch.shared_bytes);
    return text;
}

std::string hot_lines(const Counters& counters, std::string_view source, bool colours) {
    using Line = std::pair<uint32_t, const LineCounters*>;
    std::vector<Line> hot;
    for (const auto& [number, line] : counters.lines) hot.emplace_back(number, &line);
    std::stable_sort(hot.begin(), hot.end(), [&](const Line& a, const Line& b) {
        return heat(*a.second, counters) > heat(*b.second, counters);
    });
    if (hot.size() > kHotLines) hot.resize(kHotLines);
    if (hot.empty()) return "";
    const std::vector<std::string_view> lines = split_lines(source);
    std::string text = fmt::format("\n  hot lines; in brackets what would do\n  {}{:>6} {:>7} {:>5} {:>12} {:>12}{}\n",
                                   colours ? kFaint : "", "instr", "sectors", "lanes", "sectors/req", "passes/req",
                                   colours ? kPlain : "");
    for (const auto& [number, line] : hot) {
        const std::string_view written = number <= lines.size() ? lines[number - 1] : std::string_view();
        text += fmt::format("  {:>4.1f} % {:>5.1f} % {:>5.1f} {:>12} {:>12} {:>6} | {}\n",
                            100 * ratio(line->warp_instructions, counters.warp_instructions),
                            100 * ratio(sectors(*line), sectors(counters)),
                            ratio(line->thread_instructions, line->warp_instructions), per_request(*line),
                            passes(*line), number, valid_utf8(written.substr(0, kSourceColumns)));
    }
    return text;
}

std::string advice_text(const std::vector<Advice>& all, bool colours) {
    if (all.empty()) return "";
    std::string text = "\n  advice\n";
    for (const Advice& advice : all)
        text += fmt::format("  {}{}{}{}\n", colours ? kBold : "",
                            advice.line == 0 ? "" : fmt::format("line {}: ", advice.line), colours ? kPlain : "",
                            advice.text);
    return text;
}

}  // namespace

LaunchShape shape_of(const std::string& kernel, uint64_t blocks, uint32_t threads, uint32_t dynamic_shared,
                     const Resources& resources, const DeviceInfo& gpu) {
    LaunchShape shape{
        kernel, blocks, threads, resources.registers, resources.spill_bytes, resources.shared_bytes + dynamic_shared,
        {}};
    shape.occupancy = occupancy_of({threads, shape.registers, shape.shared_bytes}, gpu);
    return shape;
}

Profile profile_of(std::shared_ptr<const Counters> counters, std::vector<LaunchShape> launches, const DeviceInfo& gpu) {
    Profile profile{std::move(counters), std::move(launches), {}, {}, gpu.name};
    if (profile.counters) profile.advice = advice_on(*profile.counters, profile.launches, gpu.sm_count);
    return profile;
}

std::string shown(const Profile& profile, std::string_view source, bool colours) {
    if (!profile.counters || profile.counters->warp_instructions == 0) return "";
    std::string text = "\n" + summary(*profile.counters);
    for (const LaunchShape& launch : profile.launches) text += occupancy_text(launch);
    if (!profile.launches.empty()) text += fmt::format("  {:<14} on {}\n", "", profile.gpu);
    if (profile.estimate)
        text += fmt::format("  {:<14} {:.0f}: a number to rank kernels of one task by, not a time\n", "estimate",
                            *profile.estimate);
    return text + hot_lines(*profile.counters, source, colours) + advice_text(profile.advice, colours);
}

void add_to(Json& document, const Profile& profile) {
    document["occupancy"] = Json::array();
    for (const LaunchShape& launch : profile.launches) document["occupancy"].push_back(to_json(launch));
    document["advice"] = Json::array();
    for (const Advice& advice : profile.advice) document["advice"].push_back(to_json(advice));
    document["estimate"] = profile.estimate ? json_number(*profile.estimate) : Json();
}

}  // namespace recuda
