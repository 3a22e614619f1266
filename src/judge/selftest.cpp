#include "judge/selftest.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <optional>

#include "base/text.h"
#include "build/builder.h"
#include "build/toolchain.h"
#include "judge/selftest_attacks.h"
#include "judge/session.h"
#include "task/catalogue.h"

namespace recuda {
namespace {

using Got = SelftestResult::Got;
using Kind = SelftestCase::Kind;

constexpr size_t kByBytes = 140;
// A timing cheat that gains less than this on the honest kernel gains nothing: two medians of one session differ by as
// much.
constexpr double kGain = 0.95;

bool is_triton(const std::string& kernel) { return kernel.ends_with(".py"); }

std::string_view name(DeviceKind device) { return device == DeviceKind::vgpu ? "vgpu" : "cuda"; }

/// "faulted: shared_race at rmsnorm.cu:15", "wrong: normal: …", "refused: …".
std::string said(const Evaluation& evaluation) {
    const Verdict& verdict = evaluation.verdict;
    std::string text(name(evaluation.outcome));
    if (!verdict.reports.empty()) {
        const Report& first = verdict.reports.front();
        return text + fmt::format(": {} at {}:{}", name(first.check), first.file, first.line);
    }
    for (const WorkloadVerdict& workload : verdict.workloads)
        if (workload.outcome == evaluation.outcome && !workload.detail.empty())
            return text + one_line(fmt::format(": inputs `{}`: {}", workload.input, workload.detail), kByBytes);
    return text + (verdict.log.empty() ? "" : ": " + one_line(verdict.log, kByBytes));
}

bool has(const Verdict& verdict, const std::string& words) {
    const auto in = [&](std::string_view text) { return text.find(words) != std::string_view::npos; };
    return in(verdict.log) ||
           std::any_of(verdict.reports.begin(), verdict.reports.end(),
                       [&](const Report& report) { return in(name(report.check)); }) ||
           std::any_of(verdict.workloads.begin(), verdict.workloads.end(),
                       [&](const WorkloadVerdict& workload) { return in(workload.input) || in(workload.detail); });
}

bool is_caught_as_told(const SelftestCase& one, const Evaluation& evaluation) {
    return std::any_of(one.caught_by.begin(), one.caught_by.end(), [&](const CaughtBy& by) {
        return by.outcome == evaluation.outcome && (by.words.empty() || has(evaluation.verdict, by.words));
    });
}

/// The cases of one task on one device: one session, as in a run.
class Group {
 public:
    Group(Task task, DeviceKind device, Builder& builder, const SelftestOptions& options)
        : device_(device),
          builder_(builder),
          session_(std::move(task), options.make_device(device), builder,
                   {.target = options.target, .seed = options.seed, .baselines = {}, .count = false}) {}

    void build(std::span<SelftestResult* const> results) {
        std::vector<Order> orders;
        for (const SelftestResult* result : results) {
            candidates_.push_back(candidate_of(result->one->kernel, result->one->text));
            orders.push_back(session_.order(candidates_.back(), Depth::whole));
        }
        built_ = build_all(builder_, std::move(orders));
    }

    void judge(size_t index, SelftestResult& result) {
        const auto start = std::chrono::steady_clock::now();
        result.device = name(device_);
        const Evaluation evaluation = evaluated(candidates_[index], built_[index]);
        conclude(*result.one, evaluation, result);
        result.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }

 private:
    static Candidate candidate_of(const std::string& kernel, const std::string& text) {
        const Language language = is_triton(kernel) ? Language::triton : Language::cuda;
        return make_candidate(std::make_shared<const KernelFile>(parse_kernel_file(text, kernel, language)), {});
    }

    Evaluation evaluated(const Candidate& candidate, Built built) {
        return session_.judge(candidate, std::move(built), Depth::whole, true, {}).evaluation;
    }

    void conclude(const SelftestCase& one, const Evaluation& evaluation, SelftestResult& result) {
        const std::string words = said(evaluation);
        if (one.kind == Kind::right) {
            result.accepted = evaluation.outcome == Outcome::correct;
            if (!result.accepted) result.why = "a right kernel is " + words;
        } else if (is_caught_as_told(one, evaluation) || (!one.catchable && evaluation.outcome != Outcome::correct)) {
            result.got = Got::caught;
            result.by = words;
        } else if (evaluation.outcome == Outcome::correct && one.honest.empty()) {
            result.why = one.catchable ? "the judge finds it correct" : one.why;
        } else if (evaluation.outcome == Outcome::correct && evaluation.median_ns) {
            compare_with_honest(one, *evaluation.median_ns, result);
        } else {
            result.why = words + ", which is not what must catch it";
        }
    }

    void compare_with_honest(const SelftestCase& one, double median_ns, SelftestResult& result) {
        std::optional<double>& honest_ns = honest_ns_[one.honest];
        if (!honest_ns) {
            std::vector<Order> orders;
            const Candidate honest = candidate_of(one.honest, one.honest_text);
            orders.push_back(session_.order(honest, Depth::whole));
            honest_ns = evaluated(honest, build_all(builder_, std::move(orders)).front()).median_ns;
        }
        if (!honest_ns) throw Error("{} was not measured", one.honest);
        const double ratio = median_ns / *honest_ns;
        result.got = ratio >= kGain ? Got::caught : Got::missed;
        (result.got == Got::caught ? result.by : result.why) =
            fmt::format("correct, in {:.2f} of the time of {}", ratio, one.honest);
    }

    DeviceKind device_;
    Builder& builder_;
    Session session_;
    std::vector<Candidate> candidates_;
    std::vector<Built> built_;
    std::map<std::string, std::optional<double>> honest_ns_;
};

class Selftest {
 public:
    Selftest(std::span<const SelftestCase> cases, Catalogue& catalogue, Builder& builder,
             const SelftestOptions& options)
        : catalogue_(catalogue), builder_(builder), options_(options) {
        for (const SelftestCase& one : cases)
            results_.push_back({.one = &one, .got = Got::not_applicable, .why = "stopped before its turn"});
    }

    std::vector<SelftestResult> run() {
        std::map<std::pair<DeviceKind, std::string>, std::vector<SelftestResult*>> groups;
        std::vector<SelftestResult*> attacks;
        for (SelftestResult& result : results_) {
            const SelftestCase& one = *result.one;
            if (!one.attack.empty())
                attacks.push_back(&result);
            else if (const auto device = device_for(one, result))
                groups[{*device, one.task}].push_back(&result);
            else
                ++done_;
        }
        for (auto& [key, members] : groups) run_group(key.second, key.first, members);
        for (SelftestResult* result : attacks) run_attack_case(*result);
        return std::move(results_);
    }

 private:
    /// Where a case is judged; none where it does not apply here. What no GPU looks for is looked for on the virtual
    /// one.
    std::optional<DeviceKind> device_for(const SelftestCase& one, SelftestResult& result) const {
        if (is_triton(one.kernel) && triton_python() == nullptr) {
            result.why = "there is no Triton here, so no file of its language gets as far as its adapter";
            return std::nullopt;
        }
        if (one.applies_to(options_.device)) return options_.device;
        if (one.on_vgpu) return DeviceKind::vgpu;
        result.why = one.why;
        return std::nullopt;
    }

    bool stopped() const { return options_.stop.stop_requested(); }

    void tell(const SelftestCase& next) {
        if (options_.progress) options_.progress(done_, results_.size(), next);
    }

    void run_group(const std::string& task, DeviceKind device, const std::vector<SelftestResult*>& members) {
        if (stopped()) return;
        tell(*members.front()->one);
        const std::string file = selftest_tasks(catalogue_.home()).string();
        Group group(catalogue_.task(file + "#" + task), device, builder_, options_);
        group.build(members);
        for (size_t i = 0; i < members.size() && !stopped(); ++i) {
            tell(*members[i]->one);
            judge(group, i, *members[i]);
            ++done_;
        }
        for (size_t i = 0; i < members.size() && !stopped(); ++i)
            if (members[i]->one->kind == Kind::right && members[i]->good()) judge(group, i, *members[i]);
    }

    static void judge(Group& group, size_t index, SelftestResult& result) {
        result.got = Got::missed;
        result.accepted = false;
        result.why.clear();
        try {
            group.judge(index, result);
        } catch (const Error& error) {
            result.why = "the judge itself failed: " + one_line(error.what(), kByBytes);
        }
    }

    void run_attack_case(SelftestResult& result) {
        if (stopped()) return;
        tell(*result.one);
        const auto start = std::chrono::steady_clock::now();
        result.by = run_attack(result.one->attack, {catalogue_, builder_, options_.make_device});
        result.got = result.by.empty() ? Got::missed : Got::caught;
        result.why = result.by.empty() ? "the attack had the effect that it wants" : "";
        result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        ++done_;
    }

    Catalogue& catalogue_;
    Builder& builder_;
    const SelftestOptions& options_;
    std::vector<SelftestResult> results_;
    size_t done_ = 0;
};

}  // namespace

std::string_view name(Got got) {
    constexpr std::array<std::string_view, 3> kNames{"caught", "missed", "not_applicable"};
    return kNames[static_cast<size_t>(got)];
}

std::vector<SelftestResult> run_selftest(std::span<const SelftestCase> cases, Catalogue& catalogue, Builder& builder,
                                         const SelftestOptions& options) {
    return Selftest(cases, catalogue, builder, options).run();
}

}  // namespace recuda
