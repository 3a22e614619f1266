// A device whose kernels run as ever, and whose clock says what an attack on the judge's statistics wants it to say.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "device/device.h"

namespace recuda {

/// One timed run: its launches, and how many samples the device has given before.
struct ClockedRun {
    std::span<const Launch> launches;
    uint64_t sample = 0;
};

/// The device with that clock. It says that it measures time and knows no peak of its memory.
std::unique_ptr<Device> with_scripted_clock(std::unique_ptr<Device> device,
                                            std::function<double(const ClockedRun&)> clock_ns);

}  // namespace recuda
