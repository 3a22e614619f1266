// The offline tuner.
//
// Successive halving (Jamieson and Talwalkar, 2016) spends little on many and more on few. Here the little is a screening
// on small workloads. Rung by rung: every seed once; then a spread of points, taken in turn from the seeds that were
// right (a seed that failed comes last, its other points may still be good); then the better third of all right ones is
// explored, a neighbour of each in turn, and ranked again after each batch, so that what is explored moves to where it is
// good; what the search then judges whole are the best few. When no leader has an untried neighbour, the remaining points
// follow, so that a small space is exhausted.
#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "search/proposer.h"
#include "search/space.h"

namespace recuda {
namespace {

constexpr size_t kBatch = 6, kKeptShare = 3;

struct Place {
    size_t arm = 0, index = 0;
    auto operator<=>(const Place&) const = default;
};

class Tuner final : public Proposer {
 public:
    Tuner(const Space& space, size_t total) : space_(space), total_(total) {
        for (size_t arm = 0; arm < space_.arms().size(); ++arm)
            for (size_t index = 0; index < space_.arms()[arm].points.size(); ++index)
                digests_.emplace(space_.candidate(arm, index).digest, Place{arm, index});
        for (const auto& [digest, place] : digests_) known_.emplace(place, digest);
    }

    std::vector<Candidate> propose(std::span<const Evaluation> screened, size_t at_most) override {
        look_at(screened);
        for (const auto& rung : {&Tuner::seeds, &Tuner::spread, &Tuner::moves, &Tuner::rest})
            if (std::vector<Place> places = (this->*rung)(); !places.empty()) return candidates(places, at_most);
        return {};
    }

    std::string exhausted() const override {
        const bool sampled = std::any_of(space_.arms().begin(), space_.arms().end(), [](const Arm& a) { return a.sampled; });
        return fmt::format("all {} {}points of {} seeds were evaluated", digests_.size(), sampled ? "sampled " : "",
                           space_.arms().size());
    }

 private:
    void look_at(std::span<const Evaluation> screened) {
        tried_.clear();
        right_.clear();
        for (const Evaluation& evaluation : screened) {
            const auto place = digests_.find(evaluation.digest);
            if (place == digests_.end()) continue;
            tried_.insert(place->second);
            if (evaluation.outcome == Outcome::correct) right_.push_back(&evaluation);
        }
        std::stable_sort(right_.begin(), right_.end(),
                         [](const Evaluation* a, const Evaluation* b) { return ranks_before(*a, *b); });
    }

    /// Whether the place may be proposed: not tried, and not the same candidate as another place.
    bool is_open(Place place) const { return known_.contains(place) && !tried_.contains(place); }
    Place place_of(const Evaluation& evaluation) const { return digests_.at(evaluation.digest); }

    std::vector<Place> seeds() const {
        std::vector<Place> open;
        for (size_t arm = 0; arm < space_.arms().size(); ++arm)
            if (is_open({arm, 0})) open.push_back({arm, 0});
        return open;
    }

    /// Arms whose seed was right first; by the seeds alone, so that the plan of the spread stays what it is.
    std::vector<size_t> arms_in_turn() const {
        std::set<size_t> good;
        for (const Evaluation* evaluation : right_)
            if (place_of(*evaluation).index == 0) good.insert(place_of(*evaluation).arm);
        std::vector<size_t> arms(good.begin(), good.end());
        for (size_t arm = 0; arm < space_.arms().size(); ++arm)
            if (!good.contains(arm)) arms.push_back(arm);
        return good.empty() || good.size() == arms.size() ? arms : in_two(arms, good.size());
    }
    std::vector<size_t> in_two(std::vector<size_t> arms, size_t good) const {
        failed_from_ = good;
        return arms;
    }

    std::vector<Place> spread() const;
    std::vector<Place> moves() const;
    std::vector<Place> rest() const;

    std::vector<Candidate> candidates(const std::vector<Place>& places, size_t at_most) const {
        std::vector<Candidate> chosen;
        for (const Place& place : places)
            if (chosen.size() < at_most) chosen.push_back(space_.candidate(place.arm, place.index));
        return chosen;
    }

    const Space& space_;
    size_t total_;
    std::map<std::string, Place> digests_;
    std::map<Place, std::string> known_;
    std::set<Place> tried_;
    std::vector<const Evaluation*> right_;
    mutable size_t failed_from_ = 0;
};

}  // namespace
}  // namespace recuda
