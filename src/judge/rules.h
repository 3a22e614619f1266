// What the facts of a candidate's code are refused for: what no right answer needs and what tells a timed run from a
// verified one, or a cold one from a warm one.
//
//   clock, global_timer, performance_counter   the time, read to decide what to do; libcu++'s waits read it too, deep
//   in
//                                              a header, to sleep between two looks: those are let through
//   grid_id        which launch this is: its number (right in the first hundred, idle afterwards) or its graph (a
//                  timed run lies in one)
//   l2_residency   L2::evict_last: what stays in the L2 from one run to the next makes cold times warm ones
//   float_atomic   in an exact op alone: sums in no fixed order
//
// An op's `forbid` adds kinds, its `allow` takes these away. What is suspicious but has honest uses (the SM's number in
// a persistent kernel, evict_first on streamed data, prefetches, volatile accesses, nanosleep) is shown and not
// refused.
#pragma once

#include <string>

#include "kernel/facts.h"

namespace recuda {

struct Op;

/// Why a candidate for this op is refused, "kernel.cu:7: …", or "".
std::string refusal(const Facts& facts, const Op& op, const std::string& file);

}  // namespace recuda
