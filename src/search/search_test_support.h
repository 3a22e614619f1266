// A task, seeds and a judge for tests of the search: nothing is compiled, outcomes are scripted.
#pragma once

#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <thread>

#include "judge/evaluator.h"
#include "kernel/limits.h"
#include "task/op.h"
#include "task/task.h"

namespace recuda {

inline Task small_task() {
    auto op = std::make_shared<Op>();
    op->name = "copy";
    op->axes = {{"T", ""}, {"H", ""}};
    TensorSpec x{.name = "x", .dtype = DType::f32};
    x.shape = {Expression("T"), Expression("H")};
    TensorSpec y = x;
    y.name = "y";
    op->inputs = {x};
    op->outputs = {y};
    Task task{.name = "test_copy", .family = "test", .op = op, .axes = {{"H", 64}}};
    for (const int64_t tokens : {1, 8}) task.verify.push_back({{"T", tokens}, {"H", 64}});
    task.bench = task.verify;
    return task;
}

inline KernelFile seed(const std::string& name, const std::string& directives) {
    return parse_kernel_file(directives +
                                 "//! launch copy<<<T, 32>>>(x, y)\n"
                                 "extern \"C\" __global__ void copy(const float* x, float* y) { /* " +
                                 name + " */ int " + name + "; }\n",
                             name + ".cu", Language::cuda);
}

/// 1 + 17 + 3 points; those of `wide` with A*B > 32 are not legal.
inline std::vector<KernelFile> seeds() {
    return {seed("plain", ""),
            seed("wide", "//! tune A = 1, 2, 4, 8\n//! tune B = 1, 2, 4, 8, 16\n//! require A * B <= 32\n"),
            seed("bad", "//! tune C = 1, 2, 3\n")};
}

/// Scripted outcomes: `bad` is wrong, `wide` is best at A = 4, B = 8; counts what it is asked.
class ScriptedJudge final : public Evaluator {
 public:
    void prepare() override {}
    void evaluate(std::span<const Candidate> candidates, Depth depth, const std::stop_token& stop,
                  const std::function<void(Evaluation)>& done) override {
        for (const Candidate& candidate : candidates) {
            if (stop.stop_requested()) return;
            if (before) before(calls);
            while (dawdles && !stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            if (stop.stop_requested()) return;
            ++calls;
            asked.push_back(candidate.digest);
            Evaluation evaluation{.digest = candidate.digest,
                                  .task = "test_copy",
                                  .idea = candidate.file->idea.empty() ? candidate.file->name : candidate.file->idea,
                                  .tunables = candidate.point,
                                  .device = "vgpu sm_90",
                                  .target = "sm_90",
                                  .when = utc_now()};
            evaluation.outcome = outcome(candidate, depth);
            if (evaluation.outcome == Outcome::correct)
                (has_clock ? evaluation.median_ns : evaluation.estimate) =
                    cost_of ? cost_of(candidate) : estimate(candidate);
            evaluation.verdict.outcome = evaluation.outcome;
            if (evaluation.outcome == Outcome::build_failed) evaluation.verdict.log = log;
            done(std::move(evaluation));
        }
    }
    /// The slowest comes first: an order that no screening gives.
    std::vector<size_t> rank(std::span<const Candidate> candidates, std::span<const double> first_ns,
                             const std::stop_token&) override {
        std::vector<size_t> order(candidates.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return first_ns[a] > first_ns[b]; });
        return order;
    }
    std::optional<Evaluation> prove(const Candidate& candidate, Evaluation whole, const Promotion& promotion) override {
        if (before_proof) before_proof();
        if (promotion.stop.stop_requested()) return std::nullopt;
        promotions.push_back(promotion.number);
        if (promotion.rival) rivals.push_back(promotion.rival->name);
        if (wrong_when_proven.contains(candidate.digest)) {
            whole.outcome = Outcome::wrong;
            return whole;
        }
        whole.proofs = {{.baseline = "plain", .promotion = promotion.number}};
        whole.comparisons = {{.baseline = "plain", .outcome = Comparing::faster, .proof = true}};
        return whole;
    }
    std::string device_description() const override { return "scripted"; }
    std::string device_kind() const override { return "vgpu"; }
    std::string device_name() const override { return "virtual GPU"; }
    std::string device_target() const override { return "sm_90"; }
    bool measures_time() const override { return has_clock; }
    const DeviceLimits& limits() const override { return limits_; }

    static double estimate(const Candidate& candidate) {
        if (!candidate.point.contains("A")) return 1000;
        const auto distance = [](int64_t value, int64_t best) { return std::abs(std::log2(value) - std::log2(best)); };
        return 10 + 10 * distance(candidate.point.at("A"), 4) + 7 * distance(candidate.point.at("B"), 8);
    }

    std::function<void(int)> before;
    bool dawdles = false;                                                // no evaluation ends before it is stopped
    std::function<std::optional<Outcome>(const Candidate&)> outcome_of;  // none: as below
    std::function<double(const Candidate&)> cost_of;                     // none: `estimate`
    std::string log;                                                     // of those that fail to build
    int calls = 0;
    std::vector<std::string> asked;
    std::set<std::string> wrong_when_whole, wrong_when_proven;
    bool has_clock = false;
    std::function<void()> before_proof;
    std::vector<size_t> promotions;
    std::vector<std::string> rivals;

 private:
    Outcome outcome(const Candidate& candidate, Depth depth) const {
        if (const auto scripted = outcome_of ? outcome_of(candidate) : std::nullopt) return *scripted;
        if (candidate.file->name == "bad.cu") return Outcome::build_failed;
        return depth == Depth::whole && wrong_when_whole.contains(candidate.digest) ? Outcome::wrong : Outcome::correct;
    }
    DeviceLimits limits_;
};

}  // namespace recuda
