// What a proof says: FASTER, SLOWER, EQUIVALENT or INCONCLUSIVE, from the times of sessions.
//
// The unit of replication is the session (a fresh process with fresh memory), not the sample: where a kernel's code and
// data come to lie in memory shifts all of a session's times together, so that many samples of one session prove
// nothing of the kernel. A session gives one number, the median of log(baseline / candidate) over its pairs; medians
// shrug off the outliers, pairs in ABBA order the drift. Over sessions these numbers are close to normal, and their
// mean is held against a margin by one-sided t-tests. The interval is the one whose two bounds those tests use, so it
// and the verdict always agree. The number of sessions is fixed beforehand: looking again after each of them would find
// a difference sooner or later where there is none.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "evaluation/evaluation.h"

namespace recuda {

/// Ratios nearer to one than this are no difference worth a claim.
inline constexpr double kProofMargin = 0.01;
/// How much slower a kernel may be where it is not meant to win.
inline constexpr double kGuardMargin = 0.02;
/// Chance that a whole run claims a win that there is not.
inline constexpr double kProofLevel = 0.01;

/// Level at which a machine that compares a kernel with its copy must claim nothing. Smaller, for it is asked often.
inline constexpr double kSelfTestLevel = 0.001;

/// Level of the tests of a run's n-th promotion (n from 1): kProofLevel / (n (n + 1)). The levels of all promotions
/// that a run may ever make add up to kProofLevel, so its claims hold together however often it is resumed.
double level_of(size_t promotion);

/// Median of log(baseline / candidate) over pairs; the spans are equally long and not empty.
double session_statistic(std::span<const double> candidate_ns, std::span<const double> baseline_ns);

/// Means of neighbouring sessions, in which each side was loaded first once: what that does to its time (3 % either way
/// for a kernel of 6 us on an H200) is no part of the ratio and not normal noise. The last of an odd number is left
/// out.
std::vector<double> balanced(std::span<const double> session_statistics);

/// Correlation of each value with the next, in [-1, 1]; 0 where all are equal.
double neighbours_correlation(std::span<const double> statistics);

/// Whether neighbours are more alike than independent values come out in 2.5 % of all cases: the ratio drifts from
/// session to session, and a t-test that takes them for independent would claim what the drift has done (at equality 5
/// % FASTER with a drift of 2 % that keeps nine tenths of itself from one session to the next). Fewer than 8 values
/// show nothing.
bool are_dependent(std::span<const double> statistics);

struct Proven {
    Comparing outcome = Comparing::inconclusive;
    double ratio = 0, low = 0, high = 0;  // baseline time / candidate time
};

/// FASTER where low > 1 / (1 - margin), SLOWER where high < 1 - margin, EQUIVALENT where both lie between; `level` is
/// the chance of each bound to lie on the wrong side of the true ratio. Values that are dependent count as a single
/// one: the interval is that of one value, not of their mean. Fewer than two values prove nothing: the interval is then
/// (0, infinity).
Proven proven(std::span<const double> session_statistics, double level, double margin = kProofMargin);

/// Whether it is shown to be slower by less than kGuardMargin, or not slower at all.
bool not_slower(const Proven& proven);

}  // namespace recuda
