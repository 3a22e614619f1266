// Names of special registers.
#pragma once

#include <optional>
#include <string_view>

#include "device/vgpu/program.h"

namespace recuda::vgpu {

/// The special register of that name (`%tid.x`) that does not change while a warp runs; nothing for clocks and unknown
/// names.
std::optional<Special> special_named(std::string_view name);

}  // namespace recuda::vgpu
