// The answer that a program submits.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "lm/adapter.h"

namespace recuda {

/// The fields in the arguments of `submit`, one table. Throws Error that names every field that is missing, unknown or
/// of another type.
FieldValues submitted(const std::vector<Field>& answer, const nlohmann::json& arguments);

}  // namespace recuda
