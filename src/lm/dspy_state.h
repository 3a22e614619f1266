// DSPy's saved state (dspy 3.3, Module.save("x.json")): one object with a predictor's state under each parameter path,
// and `metadata`. Fields stand in it by position and without names, so ours adds `metadata.recuda.signatures`, the
// names of each predictor's fields, and checks them when it reads; of other files it checks the prefixes, which follow
// from the names. Ours must keep out of `metadata.dependency_versions`: Python stops at a key there that it does not
// know.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "lm/program.h"

namespace recuda {

/// The document of a state's text. Throws Error that says what is wrong.
nlohmann::ordered_json parse_state(std::string_view text);

/// The predictors with instructions, descriptions and demos of the document. Throws Error that says what is wrong.
std::vector<Predictor> with_state(std::vector<Predictor> predictors, const nlohmann::ordered_json& document);

/// The document with what the predictors say in it; from an empty one a new document.
nlohmann::ordered_json state_of(const std::vector<Predictor>& predictors, nlohmann::ordered_json document);

}  // namespace recuda
