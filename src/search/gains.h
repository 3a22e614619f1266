// What each step of a search gained, and the model's best against the best seed, losses included.
#pragma once

#include <optional>
#include <span>

#include "store/run_result.h"

namespace recuda {

/// Adds candidates, right ones and records of the search to the steps of `use`; steps that no model was asked for join
/// behind. `screened` stands in the order of judgement.
void add_gains(ModelUse& use, std::span<const Evaluation> screened);

/// A model's candidate against a seed, by their times on the workloads that both were measured on, else by estimates.
/// None where neither is there.
std::optional<ModelAgainstSeed> compared(const Evaluation& model, const Evaluation& seed);

}  // namespace recuda
