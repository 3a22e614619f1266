#include "judge/filter.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "build/builder.h"
#include "device/device.h"
#include "judge/session.h"

namespace recuda {
namespace {

// An honest rmsnorm takes 0.3 s for all inputs together, and a card waits for nobody.
constexpr double kRunSeconds = 5, kCandidateSeconds = 10;

JudgeOptions options_of_filter(JudgeOptions options) {
    options.baselines.clear();
    options.schedules = 1;
    options.run_deadline_s = kRunSeconds;
    options.budget_s = kCandidateSeconds;
    options.filter_device = nullptr;
    return options;
}

}  // namespace

Filter::Filter(const Task& task, std::unique_ptr<Device> device, Builder& builder, const JudgeOptions& options)
    : session_(std::make_unique<Session>(task, std::move(device), builder, options_of_filter(options))) {}

Filter::~Filter() = default;

/// The builds of the small workloads: those of the card where they are the same.
Built Filter::own_build(const Candidate& candidate, const Built& built) {
    Built own;
    Order order = session_->order(candidate, Depth::screen);
    if (!order.refusal.empty()) own.outcome = Outcome::launch_refused, own.log = order.refusal;
    for (BuildRequest& request : order.compilation.requests) {
        const auto& known = built.compilation.requests;
        request.cubin = !known.empty() && known.front().cubin;
        const auto same = std::find(known.begin(), known.end(), request);
        if (same != known.end()) {
            own.binaries.push_back(built.binaries[static_cast<size_t>(same - known.begin())]);
            continue;
        }
        BuildResult result = session_->builder().build(request);
        if (result.outcome != Outcome::correct) own.outcome = result.outcome, own.log = result.log;
        own.binaries.push_back(std::move(result.binaries));
    }
    own.compilation = std::move(order.compilation);
    return own;
}

std::optional<Filtered> Filter::filter(const Candidate& candidate, const Built& built, std::mutex& opening,
                                       const std::stop_token& stop) {
    if (unfit_) return std::nullopt;
    try {
        if (!open_) {
            const std::lock_guard lock(opening);
            session_->open();
            open_ = true;
        }
        const auto start = std::chrono::steady_clock::now();
        Judged judged = session_->judge(candidate, own_build(candidate, built), Depth::screen, true, stop);
        if (judged.stopped) return std::nullopt;
        Verdict& verdict = judged.evaluation.verdict;
        return Filtered{.device = session_->device_text(),
                        .outcome = judged.evaluation.outcome,
                        .complete = judged.complete,
                        .workloads = std::move(verdict.workloads),
                        .reports = std::move(verdict.reports),
                        .log = std::move(verdict.log),
                        .estimate = judged.evaluation.estimate,
                        .seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
                        .profile = std::move(judged.evaluation.profile)};
    } catch (const Error&) {
        unfit_ = true;  // our own reference does not run there: the card judges alone
        return std::nullopt;
    }
}

}  // namespace recuda
