// The profiler's page for people: what a kernel did, line by line, and what to do about it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "device/advice.h"

namespace recuda {

struct DeviceInfo;
struct Resources;

/// Counters of what ran, with what is derived from them for one GPU.
struct Profile {
    std::shared_ptr<const Counters> counters;
    std::vector<LaunchShape> launches;
    std::vector<Advice> advice;
    std::optional<double> estimate;  // a number to rank by, never a time
    std::string gpu;
};

/// The shape of a launch of `blocks` blocks on `gpu`. `dynamic_shared` bytes come on top of the static ones.
LaunchShape shape_of(const std::string& kernel, uint64_t blocks, uint32_t threads, uint32_t dynamic_shared,
                     const Resources& resources, const DeviceInfo& gpu);

Profile profile_of(std::shared_ptr<const Counters> counters, std::vector<LaunchShape> launches, const DeviceInfo& gpu);

/// Summary, hot lines beside their source, advice.
std::string shown(const Profile& profile, std::string_view source, bool colours);

/// Adds `occupancy`, `advice` and `estimate` to a command's document.
void add_to(Json& document, const Profile& profile);

}  // namespace recuda
