// The order of things, and where each is done:
//
//   retrieve, propose   Proposer (search/mixer.h): seeds, tuner, index, and a model that also repairs what failed
//   build, verify,      Evaluator::evaluate with Depth::screen; every evaluation is recorded before anybody sees it
//   screen              and is what the next proposal follows from
//   race                Evaluator::rank, where there is a clock
//   judge whole         Evaluator::evaluate with Depth::whole, the finalists
//   prove               Evaluator::prove, the winner
//   record              RunFolder
#include "search/search.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "judge/evaluator.h"
#include "search/deadline.h"
#include "search/gains.h"
#include "search/proposer.h"
#include "store/run_folder.h"

namespace recuda {
namespace {

constexpr double kScreeningShare = 0.75;  // of a time limit; the rest is for the finalists
constexpr char kWhole[] = "whole", kScreen[] = "screen";

using Clock = std::chrono::steady_clock;

class Search {
 public:
    Search(const SearchParts& parts, const SearchOptions& options, const std::stop_token& stop,
           const std::function<void(const SearchProgress&)>& progress)
        : evaluator_(parts.evaluator),
          proposer_(parts.proposer),
          folder_(parts.folder),
          options_(options),
          progress_(progress),
          stop_(stop),
          screening_(kScreeningShare * options.time_limit_s, stop),
          end_(options.time_limit_s, stop) {
        for (const Evaluation& evaluation : folder_.recorded()) learn(evaluation);
    }

    RunResult run() {
        const StoppedBy screened = screen();
        // An answer that is awaited may still change who wins: nobody is proven before it is there.
        const bool proven = screened == StoppedBy::waiting || judge_finalists();
        RunResult result = gathered();
        result.stopped_by = proven ? screened : stop_.stop_requested() ? StoppedBy::interrupt : StoppedBy::time;
        if (result.stopped_by == StoppedBy::converged) result.exhausted = proposer_.exhausted();
        if (result.best) result.best_file = shown(folder_.write_best(folder_.candidate(*result.best)));
        result.seconds = std::chrono::duration<double>(Clock::now() - started_).count();
        folder_.finish(dump(to_json(result)));
        return result;
    }

 private:
    /// Takes a recorded evaluation in.
    void learn(const Evaluation& evaluation) {
        const std::string& digest = evaluation.digest;
        if (!screened_.contains(digest) && !whole_.contains(digest)) order_.push_back(digest);
        (evaluation.stage == kWhole ? whole_ : screened_)[digest] = evaluation;
    }

    /// Proposes and screens from the beginning; what is recorded is taken from there, so that a resumed run takes the
    /// same way. Recorded candidates that are never proposed count as well: they use the total up.
    StoppedBy screen() {
        if (room() == 0) return nothing_to_screen();
        while (history_.size() < options_.num_candidates) {
            std::vector<Candidate> batch =
                proposer_.propose(history_, options_.num_candidates - history_.size(), screening_.token());
            // Until something is right there is nothing to keep time for.
            const std::stop_token until = finalists().empty() ? end_.token() : screening_.token();
            const std::vector<Candidate> fresh = trim_to_budget(batch);
            if (until.stop_requested() && (batch.empty() || !fresh.empty()))
                return stop_.stop_requested() ? StoppedBy::interrupt : StoppedBy::time;
            if (batch.empty()) return room() == 0 ? StoppedBy::candidates : proposer_.ended();
            judge(fresh, Depth::screen, until);
            screened_more_ = screened_more_ || !fresh.empty();
            for (const Candidate& candidate : batch)
                if (const auto found = screened_.find(candidate.digest); found != screened_.end())
                    history_.push_back(found->second);
        }
        return StoppedBy::candidates;
    }

    /// All are judged already: nobody is asked for more.
    StoppedBy nothing_to_screen() {
        for (const std::string& digest : order_)
            if (const auto found = screened_.find(digest); found != screened_.end()) history_.push_back(found->second);
        return StoppedBy::candidates;
    }

    /// How many candidates may still be judged.
    size_t room() const { return options_.num_candidates - std::min(options_.num_candidates, order_.size()); }

    /// Takes those that the total has no room for out of the batch; gives back those that are to be judged.
    std::vector<Candidate> trim_to_budget(std::vector<Candidate>& batch) const {
        const size_t room = this->room();
        std::vector<Candidate> fresh;
        std::erase_if(batch, [&](const Candidate& candidate) {
            if (screened_.contains(candidate.digest)) return false;
            if (fresh.size() == room) return true;
            fresh.push_back(candidate);
            return false;
        });
        return fresh;
    }

    void judge(const std::vector<Candidate>& candidates, Depth depth, const std::stop_token& stop) {
        tell(depth, 0, candidates.size());
        size_t count = 0;
        evaluator_.evaluate(candidates, depth, stop, [&](Evaluation evaluation) {
            const Candidate& candidate = candidates.at(count++);
            evaluation.stage = depth == Depth::whole ? kWhole : kScreen;
            folder_.record(std::move(evaluation), candidate);
            learn(folder_.recorded().back());
            tell(depth, count, candidates.size());
        });
        if (count < candidates.size() && !stop.stop_requested())
            throw Error("the judge gave {} evaluations for {} candidates", count, candidates.size());
    }

    /// Right ones that were not wrong when they were judged whole, best first: as the race and final had it, then by
    /// screening.
    std::vector<const Evaluation*> right_ones() const {
        std::vector<const Evaluation*> right;
        for (const std::string& digest : order_) {
            const auto screened = screened_.find(digest), whole = whole_.find(digest);
            if (screened == screened_.end() || screened->second.outcome != Outcome::correct) continue;
            if (whole == whole_.end() || whole->second.outcome == Outcome::correct) right.push_back(&screened->second);
        }
        std::stable_sort(right.begin(), right.end(), [&](const Evaluation* a, const Evaluation* b) {
            const size_t place_a = place(*a), place_b = place(*b);
            return place_a != place_b ? place_a < place_b : ranks_before(*a, *b);
        });
        return right;
    }

    /// In the final; those that were not in it come behind.
    size_t place(const Evaluation& evaluation) const {
        return static_cast<size_t>(std::find(ranked_.begin(), ranked_.end(), evaluation.digest) - ranked_.begin());
    }

    /// The best few.
    std::vector<const Evaluation*> finalists() const {
        std::vector<const Evaluation*> right = right_ones();
        right.resize(std::min(right.size(), options_.finalists));
        return right;
    }

    /// The best few, and where a model took part its best one and the best seed: both are told of, whoever wins.
    std::vector<const Evaluation*> with_rivals(std::vector<const Evaluation*> finalists) const {
        if (!proposer_.model_use()) return finalists;
        const std::vector<const Evaluation*> right = right_ones();
        for (const Evaluation* best : {best_of_model(right, screened_), best_of_seeds(right, screened_)})
            if (best != nullptr && std::find(finalists.begin(), finalists.end(), best) == finalists.end())
                finalists.push_back(best);
        return finalists;
    }

    /// Whom a winner is compared with beside the baselines where a model took part: its best, or the best seed.
    std::optional<Rival> rival_of(const Evaluation& winner) const {
        if (!proposer_.model_use()) return std::nullopt;
        const std::vector<const Evaluation*> right = right_ones();
        const bool is_model = is_of_model(winner, screened_);
        const Evaluation* rival = is_model ? best_of_seeds(right, screened_) : best_of_model(right, screened_);
        if (rival == nullptr) return std::nullopt;
        return Rival{is_model ? kBestSeed : kBestOfModel, folder_.candidate(*rival)};
    }

    /// What a model did, with what came of it.
    std::optional<ModelUse> model_use() const {
        std::optional<ModelUse> use = proposer_.model_use();
        if (!use) return use;
        add_gains(*use, history_);
        const std::vector<const Evaluation*> right = right_ones();
        const Evaluation *model = best_of_model(right, screened_), *seed = best_of_seeds(right, screened_);
        if (model != nullptr && seed != nullptr) use->against_seed = compared(last(model->digest), last(seed->digest));
        return use;
    }

    /// Lets right ones race, judges the best few whole until all that are left are right, and proves the winner; one
    /// that fails on the way loses, and the next takes its place. False when it was stopped before.
    bool judge_finalists() {
        if (!screened_more_ && has_proven_best()) return true;
        rank();
        while (true) {
            std::vector<Candidate> fresh;
            for (const Evaluation* finalist : with_rivals(finalists()))
                if (!whole_.contains(finalist->digest)) fresh.push_back(folder_.candidate(*finalist));
            if (fresh.empty()) {
                if (const std::optional<bool> proven = prove_winner()) return *proven;
                continue;
            }
            if (end_.token().stop_requested()) return false;
            judge(fresh, Depth::whole, end_.token());
        }
    }

    /// Race and final, where there is a clock. The order is of this start alone: times are not compared between starts.
    void rank() {
        const std::vector<const Evaluation*> right = right_ones();
        if (!evaluator_.measures_time() || right.size() < 2 || end_.token().stop_requested()) return;
        std::vector<Candidate> candidates;
        std::vector<double> first_ns;
        for (const Evaluation* one : right) {
            if (!one->median_ns) continue;
            candidates.push_back(folder_.candidate(*one));
            first_ns.push_back(*one->median_ns);
        }
        tell(SearchProgress::Stage::race, 0, candidates.size());
        for (const size_t i : evaluator_.rank(candidates, first_ns, end_.token()))
            ranked_.push_back(candidates.at(i).digest);
    }

    /// Proves the best one where that is not done. Nothing where it failed, so that there is another best one; false
    /// where it was stopped.
    std::optional<bool> prove_winner() {
        const std::vector<const Evaluation*> best = finalists();
        if (best.empty() || !evaluator_.measures_time()) return true;
        const Evaluation& winner = whole_.at(best.front()->digest);
        if (!winner.proofs.empty()) return true;
        const Candidate candidate = folder_.candidate(winner);
        Promotion promotion{
            .number = promotions() + 1,
            .stop = end_.token(),
            .progress = [&](size_t sessions, size_t of) { tell(SearchProgress::Stage::proof, sessions, of); },
            .rival = rival_of(winner)};
        std::optional<Evaluation> proven = evaluator_.prove(candidate, winner, promotion);
        if (!proven) return !end_.token().stop_requested();
        const bool right = proven->outcome == Outcome::correct;
        folder_.record(std::move(*proven), candidate);
        learn(folder_.recorded().back());
        if (!right) return std::nullopt;
        return true;
    }

    /// How often a candidate of this run was proven, so that a verdict was seen.
    size_t promotions() const {
        return static_cast<size_t>(std::count_if(folder_.recorded().begin(), folder_.recorded().end(),
                                                 [](const Evaluation& one) { return !one.proofs.empty(); }));
    }

    bool has_proven_best() const {
        const RunResult result = gathered();
        return result.best && !result.best->proofs.empty();
    }

    /// The last evaluation of a candidate.
    const Evaluation& last(const std::string& digest) const {
        const auto whole = whole_.find(digest);
        return whole != whole_.end() ? whole->second : screened_.at(digest);
    }

    RunResult gathered() const {
        RunResult result{.run = folder_.run(),
                         .task = folder_.facts().task,
                         .out_dir = shown(folder_.path()),
                         .preset = options_.preset,
                         .device_kind = evaluator_.device_kind(),
                         .device_name = evaluator_.device_name(),
                         .device_target = evaluator_.device_target(),
                         .measures_time = evaluator_.measures_time()};
        for (const std::string& digest : order_) result.evaluations.push_back(last(digest));
        result.model = model_use();
        result.promotions = promotions();
        sort_best_first(result.evaluations);
        // Until somebody is proven the best one is whom the final chose.
        if (const std::vector<const Evaluation*> finalist = finalists();
            !ranked_.empty() && !finalist.empty() && result.evaluations.front().proofs.empty()) {
            const auto chosen = std::find_if(result.evaluations.begin(), result.evaluations.end(),
                                             [&](const Evaluation& one) { return one.digest == finalist[0]->digest; });
            std::rotate(result.evaluations.begin(), chosen, chosen + 1);
        }
        if (!result.evaluations.empty() && result.evaluations.front().outcome == Outcome::correct)
            result.best = result.evaluations.front();
        return result;
    }

    void tell(SearchProgress::Stage stage, size_t count, size_t total) const {
        if (!progress_) return;
        const Evaluation* best = nullptr;
        for (const auto& [digest, evaluation] : screened_)
            if (evaluation.outcome == Outcome::correct && (best == nullptr || ranks_before(evaluation, *best)))
                best = &evaluation;
        progress_({stage, count, total, best});
    }
    void tell(Depth depth, size_t count, size_t total) const {
        if (depth == Depth::whole)
            tell(SearchProgress::Stage::whole, count, total);
        else
            tell(SearchProgress::Stage::screening, order_.size(), options_.num_candidates);
    }

    Evaluator& evaluator_;
    Proposer& proposer_;
    RunFolder& folder_;
    const SearchOptions& options_;
    const std::function<void(const SearchProgress&)>& progress_;
    std::stop_token stop_;
    Deadline screening_, end_;
    Clock::time_point started_ = Clock::now();
    std::vector<Evaluation> history_;                     // of what was proposed, in that order, as screened
    std::map<std::string, Evaluation> screened_, whole_;  // by digest
    std::vector<std::string> order_;                      // digests as they came
    std::vector<std::string> ranked_;                     // by race and final, best first
    bool screened_more_ = false;                          // since this start
};

}  // namespace

RunResult search(const SearchParts& parts, const SearchOptions& options, const std::stop_token& stop,
                 const std::function<void(const SearchProgress&)>& progress) {
    return Search(parts, options, stop, progress).run();
}

}  // namespace recuda
