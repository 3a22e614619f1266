#include "lm/usage_json.h"

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace recuda {

Json to_json(const Usage& usage) {
    return {{"input_tokens", usage.input_tokens},
            {"output_tokens", usage.output_tokens},
            {"reasoning_tokens", usage.reasoning_tokens},
            {"cost_usd", usage.cost_usd},
            {"reported", usage.reported}};
}

Usage usage_from_json(const Json& json) {
    return {.input_tokens = json.at("input_tokens").get<uint64_t>(),
            .output_tokens = json.at("output_tokens").get<uint64_t>(),
            .reasoning_tokens = json.at("reasoning_tokens").get<uint64_t>(),
            .cost_usd = json.at("cost_usd").get<double>(),
            .reported = json.at("reported").get<bool>()};
}

}  // namespace recuda
