#include "search/policy.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

namespace recuda {
namespace {

constexpr uint64_t kMostBytes = 1 << 20;

/// A member: its name, place and bounds.
struct Knob {
    const char* name;
    std::variant<double*, std::optional<double>*, size_t*, bool*> place;
    double low = 0, high = 1;
};

std::vector<Knob> knobs_of(Policy& policy) {
    return {{"model", &policy.model},
            {"retrieved", &policy.retrieved},
            {"temperature", &policy.temperature, 0, 1.5},
            {"repair_attempts", &policy.repair_attempts, 0, 100},
            {"retrieved_documents", &policy.retrieved_documents, 0, 20},
            {"retrieve_by_diagnostic", &policy.retrieve_by_diagnostic},
            {"futile_answers", &policy.futile_answers, 1, 100}};
}

std::vector<Knob> knobs_of(Policy::Shares& shares) {
    return {{"propose", &shares.propose}, {"improve", &shares.improve}, {"combine", &shares.combine}};
}

/// Sets a knob from JSON; throws Error that says what it takes.
void set(const Knob& knob, const Json& value) {
    if (bool* const* place = std::get_if<bool*>(&knob.place)) {
        if (!value.is_boolean()) throw Error("`{}` is true or false", knob.name);
        **place = value.get<bool>();
        return;
    }
    size_t* const* whole = std::get_if<size_t*>(&knob.place);
    if (value.is_null() && std::holds_alternative<std::optional<double>*>(knob.place)) return;
    const double number = value.is_number() ? value.get<double>() : std::nan("");
    if (!(number >= knob.low && number <= knob.high) || (whole != nullptr && !value.is_number_integer()))
        throw Error("`{}` is a {}number from {} to {}", knob.name, whole != nullptr ? "whole " : "", knob.low,
                    knob.high);
    if (whole != nullptr) **whole = value.get<size_t>();
    if (double* const* place = std::get_if<double*>(&knob.place)) **place = number;
    if (const auto* place = std::get_if<std::optional<double>*>(&knob.place)) **place = number;
}

void set_all(const std::vector<Knob>& knobs, const Json& json, const std::vector<std::string>& others) {
    std::vector<std::string> known = others;
    for (const Knob& knob : knobs) known.emplace_back(knob.name);
    for (const auto& [key, value] : json.items())
        if (std::find(known.begin(), known.end(), key) == known.end())
            throw Error("there is no member {}{}", one_line(key, 80), did_you_mean(key, known));
    for (const Knob& knob : knobs)
        if (json.contains(knob.name)) set(knob, json.at(knob.name));
}

Json value_of(const Knob& knob) {
    return std::visit(
        [](const auto* place) -> Json {
            if constexpr (std::is_same_v<decltype(place), const std::optional<double>*>)
                return *place ? Json(**place) : Json();
            else
                return *place;
        },
        knob.place);
}

}  // namespace

Policy read_policy(const std::filesystem::path& file) {
    const Json json = parse_json(read_file(file, kMostBytes), shown(file));
    Policy policy;
    try {
        if (!json.is_object()) throw Error("a policy is a JSON object");
        set_all(knobs_of(policy), json, {"shares"});
        if (json.contains("shares")) {
            if (!json.at("shares").is_object()) throw Error("`shares` is an object");
            set_all(knobs_of(policy.shares), json.at("shares"), {});
        }
        if (policy.shares.propose <= 0) throw Error("`propose` must have a share: all others begin with an answer");
    } catch (const Error& problem) {
        throw Error("{}: {}", shown(file), problem.what());
    }
    return policy;
}

Json to_json(const Policy& policy) {
    Policy copy = policy;
    Json json, shares;
    for (const Knob& knob : knobs_of(copy)) json[knob.name] = value_of(knob);
    for (const Knob& knob : knobs_of(copy.shares)) shares[knob.name] = value_of(knob);
    json["shares"] = std::move(shares);
    return json;
}

}  // namespace recuda
