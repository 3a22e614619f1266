// Usage as JSON, as records and the cache keep it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "lm/model.h"

namespace recuda {

nlohmann::json to_json(const Usage& usage);
/// Throws nlohmann::json::exception for anything else.
Usage usage_from_json(const nlohmann::json& json);

}  // namespace recuda
