#include "base/json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"

namespace recuda {

Json json_number(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return value;
}

double number_from_json(const Json& json) {
    if (json.is_number()) return json.get<double>();
    if (json == "nan") return std::nan("");
    if (json == "inf") return HUGE_VAL;
    if (json == "-inf") return -HUGE_VAL;
    throw Error("expected a number, found {}", dump(json));
}

Json json_numbers(const std::vector<double>& values) {
    Json array = Json::array();
    for (const double value : values) array.push_back(json_number(value));
    return array;
}

std::vector<double> numbers_from_json(const Json& array) {
    std::vector<double> values;
    for (const Json& value : array) values.push_back(number_from_json(value));
    return values;
}

Json json_text(std::string_view text) { return valid_utf8(text); }

Json parse_json(std::string_view text, std::string_view name) {
    try {
        return Json::parse(text);
    } catch (const Json::exception& error) {
        throw Error("cannot read {}: {}", name, error.what());
    }
}

std::string dump(const Json& json, int indent) { return json.dump(indent, ' ', false, Json::error_handler_t::replace); }

}  // namespace recuda
