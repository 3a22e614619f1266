// Where candidates come from. A proposer has no memory of its own: what it says follows from the evaluations so far, so
// a run that was killed goes on as if it had not been.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "evaluation/evaluation.h"
#include "kernel/candidate.h"

namespace recuda {

class Space;

class Proposer {
 public:
    virtual ~Proposer() = default;

    /// The next candidates, at most so many and none of which is among the evaluations; none when there are no more.
    /// `screened` holds one evaluation a candidate, in the order they were proposed.
    virtual std::vector<Candidate> propose(std::span<const Evaluation> screened, size_t at_most) = 0;

    /// What there is no more of, when `propose` gives nothing.
    virtual std::string exhausted() const = 0;
};

/// Seeds times tunables: each seed at its first point, a spread of points over the seeds for half of what is left of
/// `total`, then moves around the better third of what was right, and at last whatever remains. `space` must outlive
/// it.
std::unique_ptr<Proposer> make_tuner(const Space& space, size_t total);

}  // namespace recuda
