// Which right kernels a model is shown to improve or to combine: the best candidate of each file, and none of them too
// often.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace recuda {

struct Evaluation;
class Space;

class Choice {
 public:
    using Pair = std::pair<const Evaluation*, const Evaluation*>;  // the better one first

    /// Looks at the evaluations, which must stay where they are until the next look.
    void look(std::span<const Evaluation> screened, const Space& space);

    /// The best of the first few that was not improved twice already; when all were, the best. Null where none is
    /// right.
    const Evaluation* to_improve() const;
    /// The best pair of different files that was not combined yet.
    std::optional<Pair> to_combine() const;

    void improved(const Evaluation& one);
    void combined(const Pair& pair);

 private:
    std::vector<const Evaluation*> right_;  // the best of each file, best first
    std::map<std::string, size_t> improved_;
    std::set<std::pair<std::string, std::string>> combined_;
};

}  // namespace recuda
