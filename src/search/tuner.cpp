// The tuner, of seeds and of what a model or the index added to them.
//
// Successive halving (Jamieson and Talwalkar, 2016) spends little on many and more on few. Here the little is a
// screening on small workloads. Rung by rung: every file once; then a spread of points, taken in turn from the seeds
// that were right (a seed that failed comes last, its other points may still be good); then the better third of all
// right ones is explored, a neighbour of each in turn, and ranked again after each batch, so that what is explored
// moves to where it is good; what the search then judges whole are the best few. When no leader has an untried
// neighbour, the remaining points follow, so that a small space is exhausted.
#include <algorithm>
#include <set>

#include "base/error.h"
#include "search/proposer.h"
#include "search/space.h"

namespace recuda {
namespace {

constexpr size_t kBatch = 4, kKeptShare = 3;

class Tuner final : public Proposer {
 public:
    Tuner(const Space& space, size_t total) : space_(space), total_(total) {}

    std::vector<Candidate> propose(std::span<const Evaluation> screened, size_t at_most,
                                   const std::stop_token&) override {
        look_at(screened);
        for (const auto rung : {&Tuner::seeds, &Tuner::spread, &Tuner::moves, &Tuner::rest})
            if (std::vector<ArmPoint> places = (this->*rung)(); !places.empty()) return candidates(places, at_most);
        return {};
    }

    std::string exhausted() const override {
        const bool sampled =
            std::any_of(space_.arms().begin(), space_.arms().end(), [](const Arm& a) { return a.sampled; });
        const bool seeds_alone = std::all_of(space_.arms().begin(), space_.arms().end(),
                                             [](const Arm& a) { return a.origin == Origin::seed; });
        return fmt::format("all {} {}points of {} {} were evaluated", space_.distinct(), sampled ? "sampled " : "",
                           space_.arms().size(), seeds_alone ? "seeds" : "kernel files");
    }

 private:
    void look_at(std::span<const Evaluation> screened) {
        tried_.clear();
        right_.clear();
        for (const Evaluation& evaluation : screened) {
            const std::optional<ArmPoint> place = space_.place(evaluation.digest);
            if (!place) continue;
            tried_.insert(*place);
            if (evaluation.outcome == Outcome::correct) right_.push_back(&evaluation);
        }
        std::stable_sort(right_.begin(), right_.end(),
                         [](const Evaluation* a, const Evaluation* b) { return ranks_before(*a, *b); });
    }

    /// Whether the place may be proposed: not tried, and not the same candidate as another place.
    bool is_open(ArmPoint place) const { return space_.is_first(place) && !tried_.contains(place); }
    ArmPoint place_of(const Evaluation& evaluation) const { return *space_.place(evaluation.digest); }

    std::vector<ArmPoint> seeds() const {
        std::vector<ArmPoint> open;
        for (size_t arm = 0; arm < space_.arms().size(); ++arm)
            if (is_open({arm, 0})) open.push_back({arm, 0});
        return open;
    }

    /// Every point but the first of these arms, the arms in turn.
    void take_in_turn(const std::vector<size_t>& arms, std::vector<ArmPoint>& places) const {
        bool more = true;
        for (size_t round = 0; more; ++round) {
            more = false;
            for (const size_t arm : arms) {
                const std::vector<size_t>& shuffled = space_.arms()[arm].shuffled;
                if (round >= shuffled.size()) continue;
                places.push_back({arm, shuffled[round]});
                more = true;
            }
        }
    }

    /// The arms whose seed was right, then the others: it hangs on the seeds alone, so a spread that has begun stays
    /// what it is.
    std::vector<ArmPoint> open_in_turn(size_t at_most) const {
        std::set<size_t> good;
        for (const Evaluation* evaluation : right_)
            if (const ArmPoint place = place_of(*evaluation); place.index == 0) good.insert(place.arm);
        std::vector<size_t> others;
        for (size_t arm = 0; arm < space_.arms().size(); ++arm)
            if (!good.contains(arm)) others.push_back(arm);
        std::vector<ArmPoint> places;
        take_in_turn({good.begin(), good.end()}, places);
        take_in_turn(others, places);
        std::erase_if(places, [&](ArmPoint place) { return !is_open(place); });
        places.resize(std::min(places.size(), at_most));
        return places;
    }

    std::vector<ArmPoint> spread() const {
        const size_t arms = space_.arms().size(), wanted = total_ > arms ? (total_ - arms + 1) / 2 : 0;
        const size_t done =
            std::count_if(tried_.begin(), tried_.end(), [](ArmPoint place) { return place.index != 0; });
        return done < wanted ? open_in_turn(wanted - done) : std::vector<ArmPoint>();
    }

    std::vector<ArmPoint> moves() const {
        std::vector<std::vector<size_t>> near;
        for (size_t i = 0; i < (right_.size() + kKeptShare - 1) / kKeptShare; ++i)
            near.push_back(space_.arms()[place_of(*right_[i]).arm].neighbours(place_of(*right_[i]).index));
        std::vector<ArmPoint> chosen;
        std::set<ArmPoint> seen;
        bool more = true;
        for (size_t step = 0; more && chosen.size() < kBatch; ++step) {
            more = false;
            for (size_t i = 0; i < near.size() && chosen.size() < kBatch; ++i) {
                if (step >= near[i].size()) continue;
                more = true;
                const ArmPoint place{place_of(*right_[i]).arm, near[i][step]};
                if (is_open(place) && seen.insert(place).second) chosen.push_back(place);
            }
        }
        return chosen;
    }

    std::vector<ArmPoint> rest() const { return open_in_turn(total_); }

    std::vector<Candidate> candidates(const std::vector<ArmPoint>& places, size_t at_most) const {
        std::vector<Candidate> chosen;
        for (const ArmPoint& place : places)
            if (chosen.size() < at_most) chosen.push_back(space_.candidate(place));
        return chosen;
    }

    const Space& space_;
    size_t total_;
    std::set<ArmPoint> tried_;
    std::vector<const Evaluation*> right_;  // best first
};

}  // namespace

std::unique_ptr<Proposer> make_tuner(const Space& space, size_t total) { return std::make_unique<Tuner>(space, total); }

}  // namespace recuda
