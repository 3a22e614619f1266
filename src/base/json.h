// How JSON looks here: numbers that are not finite are strings, text is UTF-8, output is one document.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace recuda {

using Json = nlohmann::json;

/// A number, or "nan", "inf", "-inf".
Json json_number(double value);

/// The reverse; throws Error for anything else.
double number_from_json(const Json& json);

/// An array of such numbers, and the reverse.
Json json_numbers(const std::vector<double>& values);
std::vector<double> numbers_from_json(const Json& array);

/// Text with invalid UTF-8 replaced.
Json json_text(std::string_view text);

/// Parses; throws Error "cannot read NAME: …" with the place.
Json parse_json(std::string_view text, std::string_view name);

/// One line (indent < 0) or indented text; keys in order of insertion are not kept: sorted.
std::string dump(const Json& json, int indent = -1);

}  // namespace recuda
