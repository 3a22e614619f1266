// A field's value to text for a prompt, and from an answer back: DSPy's format_field_value and parse_value (dspy 3.3,
// adapters/utils.py).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lm/signature.h"

namespace recuda {

/// A value as messages show it: a list for a `str` as numbered pieces, other lists and objects as JSON, else str().
std::string format_value(const FieldType& type, const nlohmann::json& value);

/// The value of a field's section. Throws AnswerError that names the field.
nlohmann::json parse_value(const Field& field, const std::string& text);

/// The value of a field in a JSON object. Throws AnswerError that names the field.
nlohmann::json parse_value(const Field& field, const nlohmann::json& json);

}  // namespace recuda
