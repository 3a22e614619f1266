#include "lm/explore/submission.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "lm/field_value.h"

namespace recuda {
namespace {

bool is_text(const FieldType& type) {
    return type.kind == FieldType::Kind::text ||
           (type.kind == FieldType::Kind::optional && type.element.at(0).kind == FieldType::Kind::text);
}

Json value_of(const Field& field, const Json& given) {
    if (is_text(field.type) && given.is_structured())
        throw Error("the field `{}` must be a text, not a table", field.name);
    return parse_value(field, given);
}

}  // namespace

FieldValues submitted(const std::vector<Field>& answer, const Json& arguments) {
    // An empty table is an array.
    if (arguments.size() != 1 || !(arguments[0].is_object() || arguments[0] == Json::array()))
        throw Error("submit takes one table with the fields of the answer");
    const Json& given = arguments[0];
    std::vector<std::string> known, problems;
    FieldValues values;
    for (const Field& field : answer) {
        known.push_back(field.name);
        const bool is_given = given.contains(field.name);
        if (!is_given && field.type.kind != FieldType::Kind::optional) {
            problems.push_back(fmt::format("the field `{}` is missing", field.name));
            continue;
        }
        try {
            values[field.name] = is_given ? value_of(field, given.at(field.name)) : Json();
        } catch (const Error& error) {
            problems.emplace_back(error.what());
        }
    }
    if (given.is_object())
        for (const auto& [key, value] : given.items())
            if (std::find(known.begin(), known.end(), key) == known.end())
                problems.push_back(
                    fmt::format("there is no field `{}`{}", one_line(key, 60), did_you_mean(key, known)));
    if (!problems.empty()) throw Error("{}", joined(problems, "; "));
    return values;
}

}  // namespace recuda
