// Proposers in turn by the policy's shares: seeds first, then model, kernels of the index and tuner, each as it has
// least of its share. What a model has to repair comes before all; what it does not use, for it failed or has nothing
// new to say, goes to the tuner, and the other way round.
#pragma once

#include <memory>

#include "search/policy.h"
#include "search/proposer.h"

namespace recuda {

class ModelProposer;

struct MixedParts {
    Proposer& tuner;
    ModelProposer* model = nullptr;  // null: none
    Proposer* retrieved = nullptr;   // null: none
};

/// For a search of `total` candidates: at least one of them is the model's to answer, and where there are two, at least
/// one a seed. The parts must outlive it.
std::unique_ptr<Proposer> make_mixer(const MixedParts& parts, const Policy& policy, size_t total);

/// Kernels that were found in the index, each at its first point, as arms of the space.
class Documents;
struct Task;
std::unique_ptr<Proposer> make_retrieved(Documents& documents, const Task& task, Space& space, size_t at_most);

}  // namespace recuda
