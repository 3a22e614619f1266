// The result object that qwen and claude end their JSON output with.
#pragma once

#include <string>
#include <string_view>

#include "base/process.h"
#include "lm/model.h"

namespace recuda {

/// Reads the last object of type "result" from an array, one object, or a line each. A result that is an error, or one
/// told as success whose text begins as these programs begin errors ("[API Error", "API Error"), is a failure. Throws
/// LmError.
LmResponse read_result(std::string_view program, const ProcessResult& result);

}  // namespace recuda
