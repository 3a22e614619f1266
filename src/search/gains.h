// What each step of a search gained, and the model's best against the best seed, losses included.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "store/run_result.h"

namespace recuda {

/// Adds candidates, right ones and records of the search to the steps of `use`; steps that no model was asked for join
/// behind. `screened` stands in the order of judgement.
void add_gains(ModelUse& use, std::span<const Evaluation> screened);

/// The best that is the model's or a seed's among right candidates, best first; null where there is none. What a tuner
/// made counts to the file that it is a point of; `known` has every candidate by digest.
using ByDigest = std::map<std::string, Evaluation>;
const Evaluation* best_of_model(std::span<const Evaluation* const> right, const ByDigest& known);
const Evaluation* best_of_seeds(std::span<const Evaluation* const> right, const ByDigest& known);

bool is_of_model(const Evaluation& one, const ByDigest& known);

/// Names of the other side in the comparisons of a proven winner.
inline constexpr char kBestSeed[] = "best seed", kBestOfModel[] = "best of the model";

/// A model's candidate against a seed: as one of them was proven against the other, else by their times on the
/// workloads that both were measured on, else by estimates. None where neither is there.
std::optional<ModelAgainstSeed> compared(const Evaluation& model, const Evaluation& seed);

}  // namespace recuda
