// The worker's side: a Device served over two descriptors (wire.h).
#pragma once

#include <functional>

#include "device/device.h"

namespace recuda::cuda {

/// Answers requests until `in` ends, or until `usable` says that the device serves no more (that reply has "lost":
/// true). What a call throws becomes an "error" reply. Throws Error when `out` is gone.
void serve(Device& device, int in, int out, const std::function<bool()>& usable);

/// Answers one request with an error and "lost": for a device that cannot be opened.
void serve_failure(int in, int out, std::string_view reason);

}  // namespace recuda::cuda
