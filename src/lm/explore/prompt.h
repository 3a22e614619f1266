// What the prompts of the explore step show: variables by size and preview, functions, and the turns so far. Each text
// is bounded, and the same for the same job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace recuda {

struct ExploreJob;
struct ExploreTurn;
struct Field;

/// The question, the variables, the functions and the fields of the answer.
std::string variables_text(const ExploreJob& job, const std::vector<Field>& answer);

/// The turns, oldest first. Where they are more than `limit_bytes`, the outputs of the oldest are shortened first, then
/// their programs, then they are left out; the last turn is shortened last.
std::string history_text(const std::vector<ExploreTurn>& turns, uint64_t limit_bytes);

/// The program in an answer: what stands in its first fence, or all of it.
std::string program_in(const std::string& answer);

}  // namespace recuda
