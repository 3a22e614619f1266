// Text as Python makes and takes it: DSPy's messages hold what str() and json.dumps gave, its parser works on
// str.splitlines and str.strip.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace recuda {

/// repr of a float: "0.1", "2.0", "1e-07", "1e+16".
std::string python_float(double value);

/// str() of a value: a text itself, "True", "None", "['a', 1]".
std::string python_str(const nlohmann::json& value);

/// json.dumps(ensure_ascii=False): on one line with ", " and ": " where indent < 0.
std::string python_json(const nlohmann::json& value, int indent = -1);
std::string python_json(const nlohmann::ordered_json& value, int indent = -1);

/// orjson.dumps(OPT_INDENT_2 | OPT_APPEND_NEWLINE): the layout of DSPy's saved states.
std::string orjson_text(const nlohmann::ordered_json& value);

/// The next line of str.splitlines, which knows ten line ends; `rest` is moved behind it.
std::string_view take_line(std::string_view& rest);

/// str.strip: Unicode's white space off both ends.
std::string_view python_strip(std::string_view text);

}  // namespace recuda
