#include "search/choice.h"

#include <algorithm>

#include "evaluation/evaluation.h"
#include "search/space.h"

namespace recuda {
namespace {

constexpr size_t kFirstFew = 4, kMostImprovements = 2;

}  // namespace

void Choice::look(std::span<const Evaluation> screened, const Space& space) {
    std::map<size_t, const Evaluation*> best;
    for (const Evaluation& one : screened) {
        const std::optional<ArmPoint> place = space.place(one.digest);
        if (!place || one.outcome != Outcome::correct) continue;
        const Evaluation*& leader = best[place->arm];
        if (leader == nullptr || ranks_before(one, *leader)) leader = &one;
    }
    right_.clear();
    for (const auto& [arm, leader] : best) right_.push_back(leader);
    std::stable_sort(right_.begin(), right_.end(),
                     [](const Evaluation* a, const Evaluation* b) { return ranks_before(*a, *b); });
    right_.resize(std::min(right_.size(), kFirstFew));
}

const Evaluation* Choice::to_improve() const {
    for (const Evaluation* one : right_) {
        const auto count = improved_.find(one->digest);
        if (count == improved_.end() || count->second < kMostImprovements) return one;
    }
    return right_.empty() ? nullptr : right_.front();
}

std::optional<Choice::Pair> Choice::to_combine() const {
    for (size_t second = 1; second < right_.size(); ++second)
        for (size_t first = 0; first < second; ++first)
            if (!combined_.contains({right_[first]->digest, right_[second]->digest}))
                return Pair{right_[first], right_[second]};
    return std::nullopt;
}

void Choice::improved(const Evaluation& one) { ++improved_[one.digest]; }

void Choice::combined(const Pair& pair) { combined_.insert({pair.first->digest, pair.second->digest}); }

}  // namespace recuda
