// What may become of one right output: corruptions that the judge must reject, and other honest results that it must
// accept (research: judge.md B.3).
#pragma once

#include <string_view>
#include <vector>

#include "base/rng.h"
#include "judge/acceptance.h"
#include "task/op.h"

namespace recuda {

/// All that a corruption of one output may look at.
struct OutputSight {
    const TensorSpec& spec;
    const Tensor& right;       // as an op stores it
    const Tensor& other;       // the right one for another seed's inputs
    const Expected* expected;  // the values in double; null of a choice
    const Tensor* scores;      // of places: what they rank, [rows, candidates]; else null
    const Tensor* before;      // of an inout tensor: what it held before; else null
    Rng& rng;
};

struct Corruption {
    std::string_view name;
    bool honest;  // must be accepted
    /// The changed output; equal to the right one where this does not apply.
    Tensor (*apply)(const OutputSight&);
};

/// Of floating outputs that are compared by their error, of places in a row (choices and the like), and of what is
/// compared bitwise.
const std::vector<Corruption>& float_corruptions();
const std::vector<Corruption>& place_corruptions();
const std::vector<Corruption>& bit_corruptions();

}  // namespace recuda
