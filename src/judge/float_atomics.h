// Float additions that happen in no fixed order: an exact task may not have them, whatever a few runs show.
#pragma once

#include <string>
#include <string_view>

namespace recuda {

/// The first instruction of PTX text that adds floats atomically ("red.global.add.f32"), or "".
std::string float_atomic(std::string_view ptx);

}  // namespace recuda
