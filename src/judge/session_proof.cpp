// The comparisons of a judge's session: race and final among candidates, the proof of a winner, the machine's own test.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/paths.h"
#include "base/text.h"
#include "judge/canaries.h"
#include "judge/own_program.h"
#include "judge/proof_statistics.h"
#include "judge/proof_verdict.h"
#include "judge/race.h"
#include "judge/reference.h"
#include "judge/session.h"
#include "judge/statistics.h"
#include "task/op.h"

namespace recuda {
namespace {

/// A comparison that there is not, for the baseline's own fault.
Comparison not_proven(const std::string& baseline, const std::string& why) {
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    return {baseline, Comparing::inconclusive, kNone, kNone, kNone, {}, "no proof: " + why, true};
}

}  // namespace

std::vector<size_t> Session::rank(std::vector<Built> built, std::span<const double> first_ns,
                                  const std::stop_token& stop) {
    std::vector<std::unique_ptr<LoadedProgram>> programs;
    for (Built& one : built) {
        programs.emplace_back();
        if (one.outcome != Outcome::correct) continue;
        programs.back() =
            std::make_unique<LoadedProgram>(*device_, std::move(one.compilation), std::move(one.binaries), limits_);
    }
    const auto forget_programs = [&] {
        for (const auto& program : programs)
            if (program) program->forget();
        forget_all();
    };
    const Visit visit = [&](size_t candidate, uint32_t samples) -> std::vector<double> {
        if (!programs[candidate]) return {};
        for (int attempt = 0; attempt < 2; ++attempt) {
            try {
                std::vector<double> times = this->visit(*programs[candidate], samples);
                if (times.empty()) forget_programs();
                return times;
            } catch (const DeviceLost&) {
                forget_programs();
            }
        }
        return {};
    };
    Rng rng(options_.seed, "race");
    return final_order(race(first_ns, visit, rng, stop), visit, stop);
}

/// Sample i is the geometric mean over the workloads of their i-th samples; empty where one failed.
std::vector<double> Session::visit(LoadedProgram& program, uint32_t samples) {
    std::vector<double> logs(samples, 0);
    for (const Axes& axes : measured_axes()) {
        const Timed timed = benchmark_.time(program, program.workload_of(axes), samples);
        if (timed.outcome != Outcome::correct || timed.samples_ns.size() != samples) return {};
        for (size_t i = 0; i < samples; ++i)
            logs[i] += std::log(timed.samples_ns[i]) / static_cast<double>(measured_axes().size());
    }
    for (double& log : logs) log = std::exp(log);
    return logs;
}

std::optional<Evaluation> Session::prove(Evaluation whole, Built built, const Promotion& promotion,
                                         std::optional<Built> rival) {
    if (baselines_.all().empty() || measured_axes().empty()) return std::nullopt;
    if (built.outcome != Outcome::correct) throw Error("{} was right, and is {}", whole.digest, name(built.outcome));
    if (!tested_where_due(fitness(), promotion.stop)) return std::nullopt;
    LoadedProgram program(*device_, std::move(built.compilation), std::move(built.binaries), limits_);
    ProofParts parts{.candidate = contestant("candidate", program)};
    for (const auto& baseline : baselines_.all())
        parts.baselines.push_back({baseline->name(),
                                   [this, &baseline = *baseline](const Axes& axes, uint32_t samples) {
                                       return bounded(baseline.time(axes, samples), axes);
                                   },
                                   [&baseline = *baseline] { baseline.unload(); }});
    if (!choose_baselines(program, promotion.stop)) return std::nullopt;
    std::vector<LoadedProgram*> programs{&program};
    std::optional<LoadedProgram> other;
    if (rival && rival->outcome == Outcome::correct) {
        other.emplace(*device_, std::move(rival->compilation), std::move(rival->binaries), limits_);
        parts.baselines.push_back(contestant(promotion.rival->name, *other));
        programs.push_back(&*other);
    }
    SessionsTaken taken = sessions(std::move(parts), programs, whole.digest, promotion);
    if (taken.stopped) return std::nullopt;
    whole.comparisons.clear();
    whole.baseline_measurements.clear();
    whole.proofs.clear();
    whole.when = utc_now();
    if (taken.outcome == Outcome::correct) {
        proofs_into(whole, std::move(taken), promotion.number);
    } else {
        whole.outcome = whole.verdict.outcome = taken.outcome;
        whole.verdict.log = "in a session of its proof: " + taken.log;
    }
    return whole;
}

/// Lets baselines that are tuned by timing make their choice before the sessions, which then hold no sample that chose.
/// A way of theirs that ends the device's process is followed by the next. False where it was stopped.
bool Session::choose_baselines(LoadedProgram& program, const std::stop_token& stop) {
    constexpr int kMostWays = 16;
    for (const auto& baseline : baselines_.all())
        for (const Axes& axes : measured_axes())
            for (int i = 0; i < kMostWays; ++i) {
                if (stop.stop_requested()) return false;
                const Outcome outcome = baseline->time(axes, 1).outcome;
                if (outcome != Outcome::faulted && outcome != Outcome::timed_out) break;
                forget(program);
            }
    return true;
}

/// False where the test that was due was stopped.
bool Session::tested_where_due(const Fitness& fitness, const std::stop_token& stop) {
    if (!fitness.test_is_due()) return true;
    const std::optional<Proof> test = self_test(stop);
    if (test) fitness.tested(comparisons_of(*test).front());
    return test.has_value();
}

Fitness Session::fitness() const {
    const std::filesystem::path& file = options_.fitness_file;
    return {file.empty() ? cache_folder() / "proofs.json" : file, fmt::format("{}, {}", info().name, info().driver)};
}

void Session::proofs_into(Evaluation& evaluation, SessionsTaken taken, size_t promotion) const {
    const Fitness machine = fitness();
    for (size_t i = 0; i < taken.proofs.size(); ++i) {
        Proof& proof = taken.proofs[i];
        if (!taken.problems[i].empty()) {
            evaluation.comparisons.push_back(not_proven(proof.baseline, taken.problems[i]));
            continue;
        }
        proof.promotion = promotion;
        proof.level = level_of(promotion);
        proof.margin = kProofMargin;
        proof.unfit = machine.unfit();
        for (Comparison& comparison : comparisons_of(proof)) evaluation.comparisons.push_back(std::move(comparison));
        evaluation.proofs.push_back(std::move(proof));
        machine.proven();
    }
    times_into(evaluation);
}

/// The candidate's and the baselines' times in the sessions take the place of those by which it was chosen.
void Session::times_into(Evaluation& evaluation) const {
    std::vector<Measurement> measurements;
    std::vector<double> medians;
    for (const Proof& proof : evaluation.proofs)
        for (const WorkloadProof& workload : proof.workloads) {
            ProofTimes times = times_of(workload);
            Timed own{.method = workload.method,
                      .samples_ns = times.candidate_ns,
                      .clock_mhz = std::move(times.candidate_clock_mhz)};
            Timed other{.method = workload.baseline_method,
                        .samples_ns = std::move(times.baseline_ns),
                        .clock_mhz = std::move(times.baseline_clock_mhz)};
            Measurement baseline = benchmark_.measurement(workload.axes, std::move(other));
            Measurement measurement = benchmark_.measurement(workload.axes, std::move(own));
            for (const Measurement& chosen_by : evaluation.measurements)
                if (chosen_by.axes == workload.axes) {
                    measurement.warm_ns = chosen_by.warm_ns;
                    measurement.warm_samples_ns = chosen_by.warm_samples_ns;
                    baseline.floor_ns = measurement.floor_ns = chosen_by.floor_ns;
                    baseline.floor_of = measurement.floor_of = chosen_by.floor_of;
                }
            evaluation.baseline_measurements.push_back(
                {proof.baseline, std::move(baseline), std::move(times.candidate_ns)});
            if (&proof != &evaluation.proofs.front()) continue;
            medians.push_back(measurement.median_ns);
            measurements.push_back(std::move(measurement));
        }
    if (measurements.empty()) return;
    evaluation.measurements = std::move(measurements);
    evaluation.median_ns = geometric_mean(medians);
}

std::optional<Proof> Session::self_test(const std::stop_token& stop) {
    open();
    const OwnPlace place{task_, *device_, builder_, limits_, options_.target, built_axes(Depth::whole)};
    const auto plain = seed_named(*task_.op, "plain");
    const auto copy = [&] {
        if (plain) return own_program(place, *plain, {});
        return own_program(place, task_.op->folder / "reference.cu",
                           {.extra = reference_buffers(*task_.op, OutputTypes::stored)});
    };
    const std::unique_ptr<LoadedProgram> one = copy(), other = copy();
    LoadedProgram* const programs[] = {one.get(), other.get()};
    ProofParts parts{.candidate = contestant("copy", *one)};
    parts.baselines = {contestant(plain ? "plain" : "reference", *other)};
    SessionsTaken taken = sessions(std::move(parts), programs, "self-test", {.stop = stop, .progress = {}});
    if (taken.stopped) return std::nullopt;
    if (taken.outcome != Outcome::correct || !taken.problems.front().empty())
        throw Error("the self-test of op {} failed: {}{}", task_.op->name, taken.log, taken.problems.front());
    taken.proofs.front().level = kSelfTestLevel;
    taken.proofs.front().margin = kProofMargin;
    return std::move(taken.proofs.front());
}

Contestant Session::contestant(std::string name, LoadedProgram& program) {
    return {std::move(name),
            [this, &program](const Axes& axes, uint32_t samples) {
                return bounded(benchmark_.time(program, program.workload_of(axes), samples), axes);
            },
            [&program] { program.forget(); }};
}

/// `impossible` where it is faster than the card can be.
Timed Session::bounded(Timed timed, const Axes& axes) const {
    if (timed.outcome != Outcome::correct) return timed;
    if (std::string why = benchmark_.beyond_floor(axes, benchmark_.measurement(axes, timed)); !why.empty())
        timed.outcome = Outcome::impossible, timed.log = std::move(why);
    return timed;
}

/// Takes them, and puts this session back to its own inputs.
SessionsTaken Session::sessions(ProofParts parts, std::span<LoadedProgram* const> programs, std::string_view what,
                                const Promotion& promotion) {
    std::unique_ptr<Canaries> canaries;
    const auto renew_all = [&](uint64_t seed) {
        canaries.reset();
        for (LoadedProgram* const program : programs) program->forget();
        renew(seed);
    };
    parts.workloads = measured_axes();
    parts.renew = renew_all;
    parts.plan = options_.proof;
    if (info().kind == DeviceKind::cuda)
        parts.canary = [&] {
            if (!canaries) canaries = std::make_unique<Canaries>(*device_, builder_, options_.target);
            return canaries->time();
        };
    SessionsTaken taken = take_sessions(parts, Rng(options_.seed, fmt::format("proof {} {}", what, promotion.number)),
                                        promotion.stop, promotion.progress);
    renew_all(options_.seed);
    return taken;
}

/// A fresh process, in which nothing lies where it did, and fresh inputs.
void Session::renew(uint64_t seed) {
    cases_.reseed(seed);
    forget_all();
    baselines_.renew();
    device_->renew();
}

}  // namespace recuda
