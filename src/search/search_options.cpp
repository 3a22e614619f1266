#include <nlohmann/json.hpp>

#include "base/json.h"
#include "search/search.h"

namespace recuda {

std::string shown(const SearchOptions& options) {
    return dump(Json{{"preset", options.preset},
                     {"num_candidates", options.num_candidates},
                     {"repair_attempts", options.repair_attempts},
                     {"time_limit_s", options.time_limit_s},
                     {"seed", options.seed},
                     {"enable_retrieval", options.retrieval},
                     {"program", json_text(options.program)},
                     {"policy", options.policy.empty() ? Json() : parse_json(options.policy, "the policy")},
                     {"baselines", options.baselines},
                     {"finalists", options.finalists}});
}

}  // namespace recuda
