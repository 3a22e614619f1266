#include "search/mixer.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "search/documents.h"
#include "search/model_proposer.h"
#include "search/space.h"
#include "search/steps/answer.h"
#include "task/op.h"
#include "task/task.h"

namespace recuda {
namespace {

constexpr size_t kTunerTurn = 4;
constexpr size_t kMostKnown = 50;  // documents of kernels that the space has already

class Mixer final : public Proposer {
 public:
    Mixer(const MixedParts& parts, const Policy& policy, size_t total) : parts_(parts), total_(total) {
        if (parts_.model != nullptr) model_share_ = share_of(policy.model, 1);
        if (parts_.retrieved != nullptr) retrieved_share_ = share_of(policy.retrieved, 0);
    }

    std::vector<Candidate> propose(std::span<const Evaluation> screened, size_t at_most,
                                   const std::stop_token& stop) override {
        count(screened);
        for (const auto turn : order(screened)) {
            std::vector<Candidate> batch = (this->*turn)(screened, at_most, stop);
            if (!batch.empty() || ended() == StoppedBy::waiting) return batch;
        }
        return {};
    }

    std::string exhausted() const override {
        const std::string tuner = parts_.tuner.exhausted();
        return parts_.model == nullptr ? tuner : tuner + "; " + parts_.model->exhausted();
    }
    StoppedBy ended() const override { return parts_.model == nullptr ? StoppedBy::converged : parts_.model->ended(); }
    std::optional<ModelUse> model_use() const override {
        return parts_.model == nullptr ? std::nullopt : parts_.model->model_use();
    }

 private:
    using Turn = std::vector<Candidate> (Mixer::*)(std::span<const Evaluation>, size_t, const std::stop_token&);

    size_t share_of(double share, size_t least) const {
        const size_t most = total_ > 1 ? total_ - 1 : total_;
        return std::clamp(static_cast<size_t>(std::ceil(share * static_cast<double>(total_))), least,
                          std::max(least, most));
    }

    void count(std::span<const Evaluation> screened) {
        of_model_ = of_index_ = 0;
        for (const Evaluation& one : screened) {
            of_model_ += one.origin == Origin::model ? 1 : 0;
            of_index_ += one.origin == Origin::retrieved ? 1 : 0;
        }
        screened_ = screened.size();
    }

    bool asks_model() const { return parts_.model != nullptr && !parts_.model->is_off(); }

    /// What is kept for the model and the index of what is left.
    size_t reserved() const {
        const size_t model = asks_model() ? model_share_ - std::min(model_share_, of_model_) : 0;
        return model + retrieved_share_ - std::min(retrieved_share_, of_index_);
    }

    std::vector<Turn> order(std::span<const Evaluation> screened) {
        if (screened.empty() && total_ > 1) return {&Mixer::tune, &Mixer::ask, &Mixer::look, &Mixer::tune_on};
        if (asks_model() && parts_.model->has_repairs(screened))
            return {&Mixer::ask, &Mixer::tune, &Mixer::look, &Mixer::tune_on};
        const double all = static_cast<double>(screened_ + 1) / static_cast<double>(std::max<size_t>(total_, 1));
        std::vector<Turn> turns;
        if (static_cast<double>(of_index_) < all * static_cast<double>(retrieved_share_)) turns.push_back(&Mixer::look);
        if (static_cast<double>(of_model_) < all * static_cast<double>(model_share_)) turns.push_back(&Mixer::ask);
        for (const Turn turn : {&Mixer::tune, &Mixer::ask, &Mixer::look, &Mixer::tune_on}) turns.push_back(turn);
        return turns;
    }

    std::vector<Candidate> ask(std::span<const Evaluation> screened, size_t at_most, const std::stop_token& stop) {
        if (!asks_model()) return {};
        return parts_.model->propose(screened, at_most, stop);
    }

    std::vector<Candidate> look(std::span<const Evaluation> screened, size_t at_most, const std::stop_token& stop) {
        if (parts_.retrieved == nullptr) return {};
        return parts_.retrieved->propose(screened, std::min(at_most, kTunerTurn), stop);
    }

    /// Seeds and tuner within their share; all seeds at once, so that a model sees how they fared.
    std::vector<Candidate> tune(std::span<const Evaluation> screened, size_t at_most, const std::stop_token& stop) {
        const size_t room = at_most - std::min(at_most, reserved());
        return room == 0 ? std::vector<Candidate>() : turn(screened, room, stop);
    }

    /// Beyond their share: the others have nothing.
    std::vector<Candidate> tune_on(std::span<const Evaluation> screened, size_t at_most, const std::stop_token& stop) {
        return turn(screened, at_most, stop);
    }

    std::vector<Candidate> turn(std::span<const Evaluation> screened, size_t room, const std::stop_token& stop) {
        const bool alone = !asks_model() && parts_.retrieved == nullptr;
        return parts_.tuner.propose(screened, alone || screened.empty() ? room : std::min(room, kTunerTurn), stop);
    }

    MixedParts parts_;
    size_t total_, model_share_ = 0, retrieved_share_ = 0;
    size_t screened_ = 0, of_model_ = 0, of_index_ = 0;
};

class Retrieved final : public Proposer {
 public:
    Retrieved(Documents& documents, const Task& task, Space& space, size_t at_most)
        : documents_(documents), task_(task), space_(space), at_most_(at_most) {}

    std::vector<Candidate> propose(std::span<const Evaluation> screened, size_t at_most,
                                   const std::stop_token&) override {
        if (!looked_) look();
        std::set<std::string> known;
        for (const Evaluation& one : screened) known.insert(one.digest);
        std::vector<Candidate> fresh;
        for (const Candidate& one : candidates_)
            if (!known.contains(one.digest) && fresh.size() < at_most) fresh.push_back(one);
        return fresh;
    }
    std::string exhausted() const override { return "the index has no more kernels"; }

 private:
    void look() {
        looked_ = true;
        const IndexQuery query{.text = task_.op->name,
                               .task = task_.name,
                               .op = task_.op->name,
                               .family = task_.family,
                               .kinds = {"kernel", "candidate"},
                               .right = true,
                               .at_most = at_most_ + kMostKnown};
        for (const ShownDocument& document : documents_.find(query, true))
            if (candidates_.size() < at_most_) take(document);
    }

    /// A document that is no kernel file of this op, or that the space has already, is left alone.
    void take(const ShownDocument& document) {
        for (const Language language : {Language::cuda, Language::triton}) {
            const Draft draft{with_task(document.text, language, task_.name), language};
            const ReadDraft read = read_draft(draft, task_);
            if (!read.file) continue;
            const std::optional<Point> point = first_legal_point(*read.file, space_.workloads(), space_.limits());
            if (!point || space_.place(make_candidate(read.file, *point).digest)) return;
            if (const auto candidate = space_.add(read.file, Origin::retrieved, document.found.document))
                candidates_.push_back(*candidate);
            return;
        }
    }

    Documents& documents_;
    const Task& task_;
    Space& space_;
    size_t at_most_;
    bool looked_ = false;
    std::vector<Candidate> candidates_;
};

}  // namespace

std::unique_ptr<Proposer> make_mixer(const MixedParts& parts, const Policy& policy, size_t total) {
    return std::make_unique<Mixer>(parts, policy, total);
}

std::unique_ptr<Proposer> make_retrieved(Documents& documents, const Task& task, Space& space, size_t at_most) {
    return std::make_unique<Retrieved>(documents, task, space, at_most);
}

}  // namespace recuda
