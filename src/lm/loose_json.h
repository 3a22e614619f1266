// JSON as models write it: trailing commas, single quotes, raw line ends and unescaped quotes inside strings, Python's
// True, False and None, bare keys, closing brackets left out at the end. Valid JSON is read as what it says.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

namespace recuda {

/// The value that begins at `text[at]`, and `at` moved behind it; nothing for what cannot be made out: a string cut
/// off by the end, nesting deeper than 64, or more than `work` characters looked at. `work` is what is left of it, so
/// that many tries on one hostile text stay linear in its size.
std::optional<nlohmann::json> read_loose_json(std::string_view text, size_t& at, size_t& work);

/// The text as one value, in a Markdown fence or not, with nothing else around it.
std::optional<nlohmann::json> read_loose_json(std::string_view text);

}  // namespace recuda
