// From the raw record of a proof to what it says: when it was taken, and again at any later time on any machine.
#pragma once

#include <vector>

#include "evaluation/evaluation.h"

namespace recuda {

/// The comparison over all workloads first, then that of each. A session's statistic over all workloads is the mean of
/// theirs: the log of the geometric mean of the ratios. `ships` of the first: FASTER, and no workload shown to be or
/// possibly slower by kGuardMargin. On a machine that is not fit to prove all are INCONCLUSIVE. Empty without
/// workloads.
std::vector<Comparison> comparisons_of(const Proof& proof);

/// All times of both sides at a workload over all sessions.
struct ProofTimes {
    std::vector<double> candidate_ns, baseline_ns, candidate_clock_mhz, baseline_clock_mhz;
};
ProofTimes times_of(const WorkloadProof& workload);

}  // namespace recuda
