#include "judge/judge.h"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "base/json.h"
#include "base/text.h"
#include "build/toolchain.h"
#include "judge/filter.h"
#include "judge/preparation.h"
#include "judge/rules.h"
#include "judge/session.h"
#include "recuda_version.h"

namespace recuda {
namespace {

/// Threads that prepare candidates: one a core, but a card's process and the thread that judges have theirs.
unsigned host_threads(DeviceKind kind) {
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    return kind == DeviceKind::vgpu || cores <= 2 ? cores : cores - 2;
}

std::string device_words(const DeviceInfo& info, const std::string& target) {
    std::string text = fmt::format("{} ({}), {} SMs, L2 {} MiB", info.name, target, info.sm_count, info.l2_bytes >> 20);
    if (info.memory_bytes_per_ns > 0)
        text += fmt::format(", memory {:.0f} GB/s by its data sheet", info.memory_bytes_per_ns);
    if (!info.driver.empty()) text += ", driver " + info.driver;
    return text;
}

/// "NVRTC 13.0.88, ptxas 13.0.88, Triton 3.6.0": those that work here.
std::string compiler_words() {
    std::vector<std::string> words;
    for (const Tool& tool : inspect_toolchain())
        if (tool.state == Tool::State::ok) words.push_back(tool.name + " " + tool.version);
    return joined(words, ", ");
}

class Judge : public Evaluator {
 public:
    Judge(Task task, std::unique_ptr<Device> device, Builder& builder, const JudgeOptions& options)
        : session_(std::move(task), std::move(device), builder, options), options_(options) {
        options_.target = session_.target();
        filters_.resize(host_threads(session_.info().kind));
    }

    void prepare() override { session_.open(); }

    void evaluate(std::span<const Candidate> candidates, Depth depth, const std::stop_token& stop,
                  const std::function<void(Evaluation)>& done) override {
        if (candidates.empty() || stop.stop_requested()) return;
        session_.open();
        Preparation preparation(
            candidates, {.order = [&](const Candidate& candidate) { return session_.order(candidate, depth); },
                         .prepare =
                             [&](const Candidate& candidate, Order order, unsigned thread, const std::stop_token& end) {
                                 return prepared(candidate, std::move(order), depth, thread, end);
                             },
                         .threads = static_cast<unsigned>(filters_.size())});
        for (const Candidate& candidate : candidates) {
            std::optional<Prepared> next = preparation.next(stop);
            if (!next || stop.stop_requested()) return;
            if (next->filtered && next->filtered->turns_down()) {
                done(session_.turned_down(candidate, next->built, std::move(*next->filtered), depth));
                continue;
            }
            Judged judged = session_.judge(candidate, std::move(next->built), depth, true, stop);
            if (judged.stopped) return;
            if (next->filtered) judged.evaluation.profile = std::move(next->filtered->profile);
            judged.evaluation.filter = std::move(next->filtered);
            done(std::move(judged.evaluation));
        }
    }

    std::vector<size_t> rank(std::span<const Candidate> candidates, std::span<const double> first_ns,
                             const std::stop_token& stop) override {
        if (!measures_time() || stop.stop_requested()) {
            std::vector<size_t> as_given(candidates.size());
            std::iota(as_given.begin(), as_given.end(), size_t{0});
            return as_given;
        }
        session_.open();
        return session_.rank(built(candidates, Depth::screen), first_ns, stop);
    }

    std::optional<Evaluation> prove(const Candidate& candidate, Evaluation whole, const Promotion& promotion) override {
        if (!measures_time() || promotion.stop.stop_requested()) return std::nullopt;
        session_.open();
        std::optional<Built> rival;
        if (promotion.rival) rival = std::move(built({&promotion.rival->candidate, 1}, Depth::whole).front());
        return session_.prove(std::move(whole), std::move(built({&candidate, 1}, Depth::whole).front()), promotion,
                              std::move(rival));
    }

    std::vector<std::string> warnings() const override { return session_.baselines().warnings(); }

    std::string device_description() const override {
        Json description{{"program", fmt::format("cuda-rlm {}", kVersion)},
                         {"device", json_text(device_words(session_.info(), session_.target()))},
                         {"compilers", json_text(compiler_words())},
                         {"filter", filter_words()}};
        if (measures_time()) description["memory_peaks"] = to_json(session_.peaks());
        description["baselines"] = session_.baselines().record();
        return dump(description);
    }
    std::string device_kind() const override { return session_.info().kind == DeviceKind::vgpu ? "vgpu" : "cuda"; }
    std::string device_name() const override { return session_.info().name; }
    std::string device_target() const override { return session_.target(); }
    bool measures_time() const override { return session_.info().measures_time; }
    const DeviceLimits& limits() const override { return session_.limits(); }

 private:
    /// Builds that were made before, so that they come from the cache.
    std::vector<Built> built(std::span<const Candidate> candidates, Depth depth) {
        std::vector<Order> orders;
        for (const Candidate& candidate : candidates) orders.push_back(session_.order(candidate, depth));
        return build_all(session_.builder(), std::move(orders));
    }

    /// On a thread of the host: the build, and what the filter says of it. Finalists were filtered when they were
    /// screened.
    Prepared prepared(const Candidate& candidate, Order order, Depth depth, unsigned thread,
                      const std::stop_token& stop) {
        std::vector<Order> orders;
        orders.push_back(std::move(order));
        Prepared prepared{std::move(build_all(session_.builder(), std::move(orders)).front()), std::nullopt};
        if (!options_.filter_device || depth == Depth::whole || prepared.built.outcome != Outcome::correct ||
            !refusal(prepared.built.facts, *session_.task().op, candidate.file->name).empty())
            return prepared;
        std::unique_ptr<Filter>& filter = filters_[thread];
        if (!filter)
            filter = std::make_unique<Filter>(session_.task(), options_.filter_device(), session_.builder(), options_);
        prepared.filtered = filter->filter(candidate, prepared.built, opening_, stop);
        return prepared;
    }

    std::string filter_words() const {
        return options_.filter_device ? fmt::format("virtual GPU ({}), {} threads", session_.target(), filters_.size())
                                      : "none";
    }

    Session session_;
    JudgeOptions options_;
    std::mutex opening_;
    std::vector<std::unique_ptr<Filter>> filters_;  // one a preparing thread, made when first needed
};

}  // namespace

std::unique_ptr<Evaluator> make_judge(Task task, std::unique_ptr<Device> device, Builder& builder,
                                      const JudgeOptions& options) {
    return std::make_unique<Judge>(std::move(task), std::move(device), builder, options);
}

}  // namespace recuda
