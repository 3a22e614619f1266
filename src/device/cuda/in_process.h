// A GPU driven from this process: what a worker serves. A kernel that faults poisons the process, so nobody else makes
// one.
#pragma once

#include <functional>
#include <memory>

#include "device/cuda/driver.h"
#include "device/device.h"

namespace recuda::cuda {

struct InProcess {
    std::unique_ptr<Device> device;
    /// False once a fault or a kernel without end has made the process useless: it can only exit then.
    std::function<bool()> usable;
};

/// `printed` gives what kernels have printed since the last call, once the stream is idle (see print_capture.h).
/// Throws Error when there is no such GPU.
InProcess make_in_process(int ordinal, std::function<std::string()> printed);

/// Facts of GPU `ordinal`.
DeviceInfo describe(const Driver& driver, int ordinal);

/// Number of GPUs that the driver shows.
int count_gpus(const Driver& driver);

}  // namespace recuda::cuda
