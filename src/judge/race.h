// Finding the fastest of many candidates with few samples: a race with elimination, then a final.
//
// Most candidates are visibly slower after a handful of samples; only those that could still win get more. In the race
// each round triples the samples and keeps the best third, or all that lie within 3 % of the leader. The final takes
// the best few in turns, in an order that rotates so that each has each place equally often, and ranks them by how they
// compare within one turn, which drift does not touch. The winner's times are chosen for being low, so they are no
// claim: a proof takes new ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "base/rng.h"

namespace recuda {

/// Samples of each round, all rounds' samples counting together. A visit takes kVisitSamples of them at a time, because
/// a visit costs more than its samples; each pass visits everybody once, in a new random order.
inline constexpr uint32_t kRaceRounds[] = {3, 9, 27};
inline constexpr uint32_t kVisitSamples = 3;
inline constexpr double kRaceKept = 1.0 / 3, kRaceWithin = 0.03;
/// What took so many times the leader's time at its first sample is out.
inline constexpr double kRaceHopeless = 2;

inline constexpr size_t kFinalists = 8;
/// Twice through all rotations of kFinalists: 96 samples each.
inline constexpr uint32_t kFinalRounds = 16, kFinalSamples = 6;

/// So many new times of one run of a candidate; empty: it failed and is out.
using Visit = std::function<std::vector<double>(size_t candidate, uint32_t samples)>;

/// Indices of the best few of `first_ns.size()` candidates, best first. `first_ns` is a first time of each. Where
/// `stop` is requested it gives those that are still in, by what is known.
std::vector<size_t> race(std::span<const double> first_ns, const Visit& visit, Rng& rng, const std::stop_token& stop);

/// The finalists (any indices) ordered by the median over all samples of log(own time / geometric mean of all in this
/// turn), best first. A finalist that fails is left out. Where `stop` is requested before one whole round was taken,
/// the order is as given.
std::vector<size_t> final_order(std::vector<size_t> finalists, const Visit& visit, const std::stop_token& stop);

}  // namespace recuda
