// Where candidates come from. What a proposer says follows from the evaluations so far and, where a model is asked,
// from its answers, which a run keeps: so a run that was killed goes on as if it had not been.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "evaluation/evaluation.h"
#include "kernel/candidate.h"
#include "store/run_result.h"

namespace recuda {

class Space;

class Proposer {
 public:
    virtual ~Proposer() = default;

    /// The next candidates, at most so many and none of which is among the evaluations; none when there are no more or
    /// `stop` was requested. `screened` holds one evaluation a candidate, in the order they were proposed.
    virtual std::vector<Candidate> propose(std::span<const Evaluation> screened, size_t at_most,
                                           const std::stop_token& stop) = 0;

    /// What there is no more of, when `propose` gives nothing.
    virtual std::string exhausted() const = 0;
    /// And whether that is all: `converged`, or that a budget is spent or an answer awaited.
    virtual StoppedBy ended() const { return StoppedBy::converged; }

    /// What a language model did in it; none where there is none.
    virtual std::optional<ModelUse> model_use() const { return std::nullopt; }
};

/// Seeds times tunables: each seed at its first point, a spread of points over the seeds for half of what is left of
/// `total`, then moves around the better third of what was right, and at last whatever remains. Arms that are added to
/// the space join in. `space` must outlive it.
std::unique_ptr<Proposer> make_tuner(const Space& space, size_t total);

}  // namespace recuda
