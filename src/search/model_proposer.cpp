#include "search/model_proposer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/digest.h"
#include "base/json.h"
#include "base/text.h"
#include "evaluation/words.h"
#include "lm/program.h"
#include "search/choice.h"
#include "search/space.h"
#include "search/steps/answer.h"
#include "search/steps/diagnostics.h"
#include "search/steps/program.h"

namespace recuda {
namespace {

constexpr size_t kFailuresInARow = 3;

/// A candidate of the model's.
struct Made {
    std::string parent;
    std::shared_ptr<const KernelFile> file;
    size_t repairs = 0;  // that led to it
};

/// What to ask, and what the answers' candidates are made from.
struct Ask {
    Prompt prompt;
    std::string step, parent;
    size_t repairs = 0;
};

class Conversation final : public ModelProposer {
 public:
    Conversation(ModelParts parts, const Policy& policy) : parts_(std::move(parts)), policy_(policy) {}

    std::vector<Candidate> propose(std::span<const Evaluation> screened, size_t at_most,
                                   const std::stop_token& stop) override {
        learn(screened);
        awaited_ = false;
        while (at_most > 0 && !is_off() && !stop.stop_requested()) {
            const Ask ask = pending_ ? *std::exchange(pending_, std::nullopt) : next();
            const std::optional<FieldValues> answer = answered(ask, stop);
            if (!answer) continue;
            std::vector<Candidate> candidates = taken(ask, *answer, at_most);
            if (!candidates.empty()) return candidates;
        }
        return {};
    }

    bool has_repairs(std::span<const Evaluation> screened) override {
        learn(screened);
        return !failures_.empty();
    }
    bool is_off() const override { return !off_.empty() || awaited_; }
    std::string exhausted() const override { return off_.empty() ? "the model gave nothing new" : off_; }
    StoppedBy ended() const override {
        return awaited_ ? StoppedBy::waiting : budget_spent_ ? StoppedBy::budget : StoppedBy::converged;
    }

    std::optional<ModelUse> model_use() const override {
        ModelUse use{.model = parts_.name ? parts_.name() : "", .problems = problems_, .off = off_};
        if (parts_.spent) {
            const Spent spent = parts_.spent();
            use.calls = spent.calls;
            use.cached = spent.cached;
            use.input_tokens = spent.usage.input_tokens;
            use.output_tokens = spent.usage.output_tokens;
            use.cost_usd = spent.usage.cost_usd;
        }
        for (const auto& [step, count] : asked_) use.steps.push_back({.step = step, .asked = count});
        return use;
    }

 private:
    /// Takes in what was judged since the last time.
    void learn(std::span<const Evaluation> screened) {
        for (; learnt_ < screened.size(); ++learnt_) {
            const Evaluation& evaluation = screened[learnt_];
            known_.insert(evaluation.digest);
            const auto made = made_.find(evaluation.digest);
            if (made == made_.end() || evaluation.outcome == Outcome::correct) continue;
            const Made& one = made->second;
            add_failure({.digest = evaluation.digest,
                         .source = one.file->text,
                         .diagnostics = diagnostics(evaluation, one.file->text),
                         .query = diagnostic_query(evaluation),
                         .lineage = lineage(one.parent, screened),
                         .repairs = one.repairs,
                         .triton = one.file->language == Language::triton});
        }
        screened_ = screened;
    }

    void add_failure(Failure failure) {
        if (failure.repairs < policy_.repair_attempts) failures_.push_back(std::move(failure));
    }

    /// How the kernels that a repair came from fared, the first one first.
    std::string lineage(const std::string& parent, std::span<const Evaluation> screened) const {
        const auto made = made_.find(parent);
        const auto found =
            std::find_if(screened.begin(), screened.end(), [&](const Evaluation& one) { return one.digest == parent; });
        if (made == made_.end() || found == screened.end() || found->outcome == Outcome::correct) return "";
        return lineage(made->second.parent, screened) +
               fmt::format("{}: {}\n", name(found->outcome), one_line(reason(*found)));
    }

    /// Repairs first, the newest failure before others; else what has had least of its share.
    Ask next() {
        if (!failures_.empty()) {
            const Failure failure = std::move(failures_.back());
            failures_.pop_back();
            return {parts_.prompts.repair(failure), "repair", failure.digest, failure.repairs + 1};
        }
        choice_.look(screened_, parts_.space);
        const Evaluation* best = choice_.to_improve();
        const std::optional<Choice::Pair> pair = choice_.to_combine();
        const double propose = due("propose", policy_.shares.propose, true),
                     improve = due("improve", policy_.shares.improve, best != nullptr),
                     combine = due("combine", policy_.shares.combine, pair.has_value());
        if (propose <= std::min(improve, combine)) return {parts_.prompts.propose(screened_), "propose", "", 0};
        if (combine < improve) {
            choice_.combined(*pair);
            return {parts_.prompts.combine(shown(*pair->first), shown(*pair->second), screened_), "combine",
                    pair->first->digest, 0};
        }
        choice_.improved(*best);
        return {parts_.prompts.improve(shown(*best), screened_), "improve", best->digest, 0};
    }

    /// How far a step has come, by its share; infinite for one that cannot be taken.
    double due(const char* step, double share, bool possible) const {
        const auto asked = asked_.find(step);
        return possible ? (asked == asked_.end() ? 1.0 : static_cast<double>(asked->second) + 1) / share : INFINITY;
    }

    Shown shown(const Evaluation& evaluation) const {
        const auto made = made_.find(evaluation.digest);
        return {evaluation, made == made_.end() ? parts_.source(evaluation) : made->second.file->text};
    }

    std::optional<FieldValues> answered(const Ask& ask, const std::stop_token& stop) {
        uint64_t& repeats = repeats_[sha256(ask.prompt.path + dump(Json(ask.prompt.inputs)))];
        Asking asking{.temperature = policy_.temperature,
                      .rollout = repeats++,
                      .documents = ask.prompt.documents,
                      .accept = [](const FieldValues& values) { drafts_in(kernels_of(values)); }};
        if (parts_.asking) parts_.asking(ask.prompt.path);
        std::optional<FieldValues> values;
        try {
            values =
                ask.step == "propose" && parts_.explore
                    ? parts_.explore(ask.prompt, screened_, asking, stop)
                    : parts_.program.predict(ask.prompt.path, ask.prompt.inputs, parts_.model, asking, stop).values;
            drafts_in(kernels_of(*values));
            failures_in_a_row_ = 0;
            ++asked_[ask.step];
        } catch (const LmError& fault) {
            // The same question again, so that a resumed run, whose record lacks it, asks the same ones.
            if (fault.fault != LmFault::bad_request) {
                pending_ = ask;
                --repeats;
            }
            if (!stop.stop_requested()) failed(fault);
        } catch (const Error& problem) {
            values.reset();
            ++asked_[ask.step];
            tell(fmt::format("an answer to {} could not be read: {}", ask.prompt.path, problem.what()));
            count_futile();
        }
        if (parts_.asking) parts_.asking("");
        return values;
    }

    void failed(const LmError& fault) {
        switch (fault.fault) {
            case LmFault::no_record:
                throw fault;
            case LmFault::waiting:
                awaited_ = true;
                return;
            case LmFault::budget:
                budget_spent_ = true;
                return leave_out(fault.what());
            case LmFault::unauthorised:
            case LmFault::unknown_model:
            case LmFault::no_balance:
            case LmFault::not_usable:
            case LmFault::unreachable:
                return leave_out(fault.what());
            default:
                if (++failures_in_a_row_ == kFailuresInARow) return leave_out(fault.what());
                tell(fmt::format("the model gave no answer: {}", fault.what()));
        }
    }

    void leave_out(const std::string& why) {
        off_ = one_line(why);
        tell(fmt::format("the model is left out from here on: {}", why));
    }

    void tell(const std::string& words) {
        problems_.push_back(one_line(words));
        if (parts_.say) parts_.say(problems_.back());
    }

    /// An answer without a new candidate. Broken files that differ each time count too, but a repair may follow them.
    void count_futile() {
        if (++futile_ >= policy_.futile_answers)
            leave_out(fmt::format("its last {} answers held nothing new", futile_));
    }

    /// The candidates of an answer that are not known yet; files that cannot be read become failures.
    std::vector<Candidate> taken(const Ask& ask, const FieldValues& answer, size_t at_most) {
        std::vector<Candidate> candidates;
        bool new_failure = false;
        for (const Draft& draft : drafts_in(kernels_of(answer))) {
            const ReadDraft read = read_draft(draft, parts_.task);
            if (!read.file) {
                new_failure |= take_broken(ask, draft, read.problem);
            } else if (candidates.size() < at_most) {
                if (std::optional<Candidate> one = take_file(ask, read.file)) candidates.push_back(std::move(*one));
            }
        }
        if (!candidates.empty()) {
            futile_ = barren_ = 0;
        } else if (++barren_ >= policy_.futile_answers * (1 + policy_.repair_attempts) || !new_failure) {
            count_futile();
        }
        return candidates;
    }

    /// Whether this is a new failure.
    bool take_broken(const Ask& ask, const Draft& draft, const std::string& problem) {
        if (!known_.insert(sha256(draft.text)).second) return false;
        add_failure({.digest = "",
                     .source = draft.text,
                     .diagnostics = diagnostics_of_draft(problem, draft.text),
                     .query = problem,
                     .lineage = "",
                     .repairs = ask.repairs,
                     .triton = draft.language == Language::triton});
        return true;
    }

    /// The candidate of a new file. One without a legal point is judged at its first: that says why it is none.
    std::optional<Candidate> take_file(const Ask& ask, const std::shared_ptr<const KernelFile>& file) {
        std::optional<Point> point = first_legal_point(*file, parts_.space.workloads(), parts_.space.limits());
        if (!point)
            for_each_point(*file, [&](const Point& first) {
                point = first;
                return false;
            });
        if (!point) point.emplace();
        Candidate candidate = make_candidate(file, *point, Origin::model, ask.parent);
        if (parts_.space.place(candidate.digest) || !known_.insert(candidate.digest).second) return std::nullopt;
        parts_.space.add(file, Origin::model, ask.parent);
        candidate.step = ask.step;
        made_.emplace(candidate.digest, Made{ask.parent, file, ask.repairs});
        return candidate;
    }

    ModelParts parts_;
    Policy policy_;
    std::span<const Evaluation> screened_;  // of the present call
    size_t learnt_ = 0;                     // of them
    std::set<std::string> known_;           // digests of candidates, and of texts that are none
    std::map<std::string, Made> made_;      // by digest
    std::vector<Failure> failures_;         // not yet repaired
    std::optional<Ask> pending_;            // got no answer
    std::map<std::string, size_t> asked_;   // answers by step
    Choice choice_;
    std::map<std::string, uint64_t> repeats_;  // of a prompt
    std::vector<std::string> problems_;
    std::string off_;  // why it is asked no more
    size_t failures_in_a_row_ = 0, futile_ = 0, barren_ = 0;
    bool awaited_ = false, budget_spent_ = false;
};

}  // namespace

std::unique_ptr<ModelProposer> make_model_proposer(ModelParts parts, const Policy& policy) {
    return std::make_unique<Conversation>(std::move(parts), policy);
}

}  // namespace recuda
