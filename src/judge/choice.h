// Top-k choices are judged by property: many are right where scores nearly tie, and the reference's is but one of them.
#pragma once

#include "judge/acceptance.h"

namespace recuda {

/// `chosen`: integers [T, K] that index scores [T, E]. Right when each row's indices exist, differ, stand in falling
/// order of score, leave no better one out (both up to 2^-20 of the row's largest magnitude: the noise of scores in
/// f32), and where two scores tie exactly the lower index was taken, and stands, first.
Finding compare_choice(const std::string& name, const Tensor& chosen, const Tensor& scores);

}  // namespace recuda
