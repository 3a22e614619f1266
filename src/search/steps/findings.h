// What a search has found, for the prompts: how one candidate fared in numbers, and all that was tried in lines.
#pragma once

#include <span>
#include <string>

namespace recuda {

struct Evaluation;
struct Task;

/// Of a right candidate: times or the estimate, share of the peak, code, resources, what the virtual GPU counted, its
/// advice. Bounded.
std::string findings(const Evaluation& evaluation, const Task& task);

/// One line a candidate: digest, where it is from, its idea and tunables, and how it fared; the best first, then the
/// last that failed. Bounded; "" where nothing was tried.
std::string tried(std::span<const Evaluation> screened);

}  // namespace recuda
