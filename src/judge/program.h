// A built candidate on a device: its binaries loaded as they are needed, its plans turned into launches over given
// buffers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "device/device.h"
#include "judge/compile.h"

namespace recuda {

/// Where a launch finds a named buffer.
struct Place {
    BufferId buffer = 0;
    uint64_t offset_bytes = 0;
};
using Places = std::map<std::string, Place, std::less<>>;

class LoadedProgram {
 public:
    /// Fits the plans to what was built (`built[i]` belongs to request i). Throws LaunchRefused.
    LoadedProgram(Device& device, Compilation compilation, std::vector<std::vector<Binary>> built,
                  const DeviceLimits& limits);
    virtual ~LoadedProgram();
    LoadedProgram(const LoadedProgram&) = delete;

    /// Of all programs of this process, this one's own.
    uint64_t serial() const { return serial_; }
    size_t workloads() const { return compilation_.uses.size(); }
    const Axes& axes(size_t workload) const { return compilation_.uses[workload].axes; }
    const LaunchPlan& plan(size_t workload) const { return compilation_.uses[workload].plan; }
    /// Where these axes stand among the workloads; workloads() where they do not.
    size_t workload_of(const Axes& axes) const;
    const std::vector<std::vector<Binary>>& built() const { return built_; }

    /// The launches of a workload; `places` has every tensor and scratch that they name. Throws Error where a binary
    /// cannot be loaded.
    virtual std::vector<Launch> launches(size_t workload, const Places& places);
    /// Only its last launch: what a reference computes from its other outputs.
    Launch last_launch(size_t workload, const Places& places);

    /// Unloads everything; the next launches load it again. For a device whose process is gone, too.
    void forget();

 protected:
    /// For what launches something else than kernels: nothing was built, plans are taken as they are.
    LoadedProgram(Device& device, Compilation compilation);

 private:
    Launch launch(const Compilation::Use& use, const PlannedLaunch& planned, const Places& places);
    ModuleId module(size_t request, uint32_t unit);

    static uint64_t next_serial();

    uint64_t serial_ = next_serial();
    Device& device_;
    Compilation compilation_;
    std::vector<std::vector<Binary>> built_;
    std::map<std::pair<size_t, uint32_t>, ModuleId> modules_;
};

}  // namespace recuda
