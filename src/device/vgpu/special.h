// Special registers: their names and what they hold.
#pragma once

#include <optional>
#include <string_view>

#include "device/vgpu/program.h"

namespace recuda::vgpu {

/// The special register of that name (`%tid.x`) that does not change while a warp runs; nothing for clocks and unknown
/// names.
std::optional<Special> special_named(std::string_view name);
/// What it holds for a lane.
uint32_t special_value(const Warp& warp, Special special, uint32_t lane);

}  // namespace recuda::vgpu
