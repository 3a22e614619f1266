// The baseline `cublaslt`: NVIDIA's library for matrix products, for ops that are one.
#pragma once

#include "judge/baseline.h"

namespace recuda {

/// The heuristics' first algorithms, each timed over the workload's own buffers, the fastest of which is right.
Offer offer_cublaslt(const BaselineParts& parts);

}  // namespace recuda
