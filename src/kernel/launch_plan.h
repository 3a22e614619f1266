// The directives of a kernel file resolved for one workload: launches, scratch, arguments, dimensions, with every limit
// checked before anything runs.
//
// Two steps, because the first needs no build: `plan` evaluates and checks what the text alone says, `fit` checks it
// against the entry points that a build gave (names, argument count and kind, static shared memory, launch bounds).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "kernel/binary.h"
#include "kernel/candidate.h"
#include "kernel/limits.h"

namespace recuda {

struct PlannedTensorMap {
    std::vector<uint64_t> dims, strides_bytes;
    std::vector<uint32_t> box;
    uint32_t swizzle = 0;
    std::vector<uint32_t> element_strides;
    bool nan_fill = false;
};

struct PlannedArgument {
    enum class Kind { buffer, value, tensor_map } kind = Kind::value;
    std::string name;          // of the buffer; of a value what was written: "eps", "T", "ceil_div(H, 2)"
    DType dtype = DType::i32;  // of a value; of a buffer its elements
    std::vector<std::byte> value;
    PlannedTensorMap tensor_map;
};

struct PlannedLaunch {
    std::string kernel;
    uint32_t unit = 0;  // index of the build's binary that holds the kernel
    Dim3 grid, block, cluster;
    bool has_block = true;      // Triton: the compiler decides, `fit` fills it in
    uint32_t shared_bytes = 0;  // dynamic
    bool cooperative = false, programmatic = false;
    std::vector<PlannedArgument> arguments;
};

struct PlannedScratch {
    std::string name;
    DType dtype = DType::f32;
    std::vector<int64_t> shape;
    uint64_t bytes = 0;
    bool zeroed = false;
};

struct LaunchPlan {
    std::vector<PlannedLaunch> launches;
    std::vector<PlannedScratch> scratch;
};

/// Names of buffers that an argument may take beside the op's tensors, with their element types: the reference's double
/// outputs and auxiliaries.
using ExtraBuffers = std::map<std::string, DType, std::less<>>;

/// Thrown by `plan` and `fit`: this cannot be launched, and why. The judge turns it into the outcome launch_refused.
class LaunchRefused : public Error {
 public:
    using Error::Error;
};

/// `axes` binds every axis of the task's op. Throws LaunchRefused.
LaunchPlan plan(const KernelFile& file, const Point& point, const Task& task, const Variables& axes,
                const DeviceLimits& limits, const ExtraBuffers& extra = {});

/// Checks the plan against what was built, and fills in what the compiler decided (Triton's block and shared memory).
/// Throws LaunchRefused.
void fit(LaunchPlan& plan, std::span<const Binary> binaries, const DeviceLimits& limits);

/// Checks one launch's grid, block, cluster and shared memory against the limits. Throws LaunchRefused. `exec` uses it
/// too.
void check_dimensions(const PlannedLaunch& launch, const DeviceLimits& limits);

/// Checks one launch against its entry point. Throws LaunchRefused.
void check_entry(const PlannedLaunch& launch, const Entry& entry, const DeviceLimits& limits);

nlohmann::json to_json(const LaunchPlan& plan);

}  // namespace recuda
