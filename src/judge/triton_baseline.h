// The baseline `triton`: the op's Triton seed, compiled ahead of time and tuned.
#pragma once

#include "judge/baseline.h"

namespace recuda {

/// All legal points of the seed's tunables, built when the session begins; the fastest is taken at each workload.
Offer offer_triton(const BaselineParts& parts);

}  // namespace recuda
