// Runs of the corpus on a device: counted on the virtual GPU, timed on a real one. One JSON object a variant.
#pragma once

#include <functional>

#include "base/json.h"
#include "build/builder.h"
#include "calibration/corpus.h"
#include "device/device.h"

namespace recuda::calibration {

using Sink = std::function<void(const Json&)>;

struct TrialOptions {
    size_t points = 6;      // of a file's tunables, at most
    uint32_t samples = 21;  // of a timing
    uint64_t seed = 1;
};

/// Every file of the task at its points and workloads. What does not build or run becomes an object with its `outcome`.
void try_task(const TaskEntry& entry, Device& device, Builder& builder, const TrialOptions& options, const Sink& sink);

void try_micros(const std::vector<Micro>& micros, Device& device, Builder& builder, const TrialOptions& options,
                const Sink& sink);

}  // namespace recuda::calibration
