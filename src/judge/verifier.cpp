#include "judge/verifier.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "task/op.h"

namespace recuda {
namespace {

// Outputs are filled with one of these before a run. The first is a NaN in every floating type and -1 as an integer. An
// element that still has it may be unwritten or a result; only an unwritten one has the second in a second run.
constexpr std::byte kPoison{0xff}, kOtherPoison{0x5a};
constexpr unsigned kDeterminismRuns = 5;  // of an exact task on a GPU
constexpr size_t kLogBytes = 8 << 10;
// Workspace of one workload. The virtual GPU's lies in the host's memory, twice (bytes, and whether they were written),
// and a filter has a thread a core; on a GPU the inputs of all cases must find room beside it.
constexpr uint64_t kMostVirtualScratchBytes = uint64_t{512} << 20;
constexpr uint64_t kScratchShare = 4;  // of a GPU's memory

/// What one input showed.
struct Shown {
    Outcome outcome = Outcome::correct;
    Finding finding;
    std::vector<Report> reports;
    std::string log;
    std::shared_ptr<const Counters> counters;
};

/// Whether an exact task is run again with these inputs: among equals the first to come shows, among others whatever
/// hangs on the order at all. A run of each kind more would cost a third of a screening and show no more.
bool shows_order(Battery battery) {
    return battery == Battery::normal || battery == Battery::zeros || battery == Battery::ties ||
           battery == Battery::mixed || battery == Battery::crowd;
}

Shown wrong(std::string detail) { return {Outcome::wrong, {HUGE_VAL, 0, "", std::move(detail)}, {}, "", nullptr}; }

/// One workload of one program: runs it on case after case.
class WorkloadRun {
 public:
    WorkloadRun(LoadedProgram& program, size_t workload, const Task& task, Device& device, Cases& cases,
                const VerifyOptions& options, Schedules& schedules, std::map<std::string, BiasSums>& biases)
        : program_(program),
          workload_(workload),
          task_(task),
          device_(device),
          cases_(cases),
          options_(options),
          schedules_(schedules),
          biases_(biases) {}

    Shown input(const Input& input) {
        const Battery battery = input.battery;
        Case& one = cases_.at(program_.axes(workload_), battery, static_cast<unsigned>(input.part));
        if (Shown refused = prepare(one); refused.outcome != Outcome::correct) return refused;
        Shown shown = first_run(one, battery);
        if (shown.outcome != Outcome::correct) return shown;
        if (Shown other = other_schedules(one); other.outcome != Outcome::correct) return other;
        if (Shown elsewhere = moved_run(one); elsewhere.outcome != Outcome::correct) return elsewhere;
        if (task_.op->exact && shows_order(battery)) return repeated(one, std::move(shown));
        return shown;
    }

 private:
    /// Workspace and modules. That they cannot be had is the candidate's doing.
    Shown prepare(const Case& one) {
        const auto failed = [](Outcome outcome, const Error& error) {
            Shown shown{.outcome = outcome};
            shown.log = error.what();
            return shown;
        };
        if (Shown refused = too_much_scratch(); refused.outcome != Outcome::correct) return refused;
        try {
            if (!scratch_) scratch_.emplace(device_, program_.plan(workload_), Guard::after);
        } catch (const DeviceLost&) {
            throw;
        } catch (const DeviceWedged&) {
            throw;
        } catch (const Error& error) {
            return failed(Outcome::faulted, error);
        }
        try {
            launches_ = program_.launches(workload_, merged(one.buffers.places(), scratch_->places()));
        } catch (const DeviceLost&) {
            throw;
        } catch (const DeviceWedged&) {
            throw;
        } catch (const Error& error) {
            return failed(device_.info().kind == DeviceKind::vgpu ? Outcome::unsupported : Outcome::launch_refused,
                          error);
        }
        return {};
    }

    /// What no device can hold beside everything else must not be tried: it would take the whole run with it.
    Shown too_much_scratch() const {
        uint64_t bytes = 0;
        for (const PlannedScratch& scratch : program_.plan(workload_).scratch)
            bytes += std::min(scratch.bytes, std::numeric_limits<uint64_t>::max() - bytes);
        const bool is_virtual = device_.info().kind == DeviceKind::vgpu;
        const uint64_t most = is_virtual ? kMostVirtualScratchBytes : device_.info().memory_bytes / kScratchShare;
        if (bytes <= most || most == 0) return {};
        Shown shown{.outcome = is_virtual ? Outcome::unsupported : Outcome::launch_refused};
        shown.log = is_virtual ? fmt::format("unsupported: {} bytes of scratch; the virtual GPU has {}", bytes, most)
                               : fmt::format("{} bytes of scratch are more than a quarter of the GPU's memory", bytes);
        return shown;
    }

    Shown first_run(Case& one, Battery battery) {
        Shown shown =
            run(one, kPoison,
                {.deadline_s = deadline_s(one), .checks = true, .count = options_.count && battery == Battery::normal});
        if (shown.outcome != Outcome::correct) return shown;
        first_ = cases_.read_written(one);
        if (const std::string changed = cases_.changed_input(one); !changed.empty()) return wrong(changed);
        if (!stored_input_.empty())
            return wrong(
                fmt::format("the input {} was overwritten, if only with what it held before: whoever reads it "
                            "at the same time may see anything",
                            stored_input_));
        if (may_be_unwritten(first_)) {
            Shown second = run(one, kOtherPoison, {.deadline_s = deadline_s(one), .checks = true, .count = false});
            if (second.outcome != Outcome::correct) return second;
            if (const std::string unwritten = unwritten_element(one, cases_.read_written(one), {}); !unwritten.empty())
                return wrong(unwritten);
        }
        // Many rows have power enough of their own.
        if (battery == Battery::normal && tokens_of(one.axes) <= kAskedTokens)
            for (const auto& [name, sums] : cases_.biases(one, dense_outputs(task_, one.axes, first_)))
                biases_[name].add(sums);
        return judged(one, std::move(shown), first_);
    }

    /// On a GPU: the same input at other addresses, against the other end of its pages, and over outputs that hold
    /// plausible values at the wrong places, so that a kernel that looks whether there is poison finds none. The first
    /// run's bits must come again, or values that are as right.
    Shown moved_run(Case& one) {
        if (device_.info().kind != DeviceKind::cuda) return {};
        const Buffers& buffers = cases_.moved(one);
        Outputs plausible;
        for (const auto& [name, tensor] : first_) {
            Tensor shifted = tensor;
            const auto middle = static_cast<std::ptrdiff_t>((tensor.bytes.size() / size_bytes(tensor.dtype) + 1) / 2 *
                                                            size_bytes(tensor.dtype));
            std::rotate(shifted.bytes.begin(), shifted.bytes.begin() + middle, shifted.bytes.end());
            plausible.emplace(name, std::move(shifted));
        }
        for (const TensorSpec& output : task_.op->outputs)
            device_.write(buffers.at(output.name), 0, plausible.at(output.name).bytes);
        for (const TensorSpec& input : task_.op->inputs)
            if (input.inout) device_.write(buffers.at(input.name), 0, one.inputs.at(input.name).bytes);
        scratch_->reset(kOtherPoison);
        Execution execution = device_.run(program_.launches(workload_, merged(buffers.places(), scratch_->places())),
                                          {.deadline_s = deadline_s(one), .count = false});
        Shown shown{execution.outcome, {}, std::move(execution.reports), std::move(execution.log), nullptr};
        if (shown.outcome != Outcome::correct) return shown;
        if (const std::string changed = cases_.changed_input(one, buffers); !changed.empty()) return wrong(changed);
        const Outputs second = cases_.read_written(buffers, one.axes);
        if (const std::string unwritten = unwritten_element(one, second, plausible); !unwritten.empty())
            return wrong(unwritten);
        if (same_bits(dense_outputs(task_, one.axes, second), dense_outputs(task_, one.axes, first_))) return shown;
        return judged(one, std::move(shown), second);
    }

    /// All orders but the natural one; what the first that fails shows.
    Shown other_schedules(Case& one) {
        Shown first;
        for (unsigned seed = 1; seed < options_.schedules; ++seed) {
            Shown shown = other_run(one, kPoison, seed);
            if (shown.outcome == Outcome::correct) continue;
            ++schedules_.different;
            if (schedules_.seed == 0) schedules_.seed = seed;
            if (first.outcome != Outcome::correct) continue;
            first = std::move(shown);
            first.log += fmt::format("the order of warps and blocks of seed {}, not the natural one\n", seed);
        }
        return first;
    }

    Shown other_run(Case& one, std::byte poison, uint64_t seed) {
        Shown shown =
            run(one, poison, {.deadline_s = deadline_s(one), .schedule = seed, .checks = true, .count = false});
        if (shown.outcome != Outcome::correct) return shown;
        const Outputs outputs = cases_.read_written(one);
        if (schedules_.bitwise)
            if (const std::string changed = changed_element(outputs); !changed.empty())
                return wrong(
                    fmt::format("another order of warps and blocks (seed {}) changes the result: {}", seed, changed));
        return judged(one, std::move(shown), outputs);
    }

    /// The first element with other bits than in the first run, "" where all are equal.
    std::string changed_element(const Outputs& outputs) const {
        for (const auto& [name, tensor] : outputs) {
            const Tensor& before = first_.at(name);
            if (tensor.bytes == before.bytes) continue;
            const auto at = std::mismatch(tensor.bytes.begin(), tensor.bytes.end(), before.bytes.begin()).first;
            const auto index = (at - tensor.bytes.begin()) / static_cast<int64_t>(size_bytes(tensor.dtype));
            return fmt::format("element {} of {} is {}, was {}", index, name, tensor.at(index), before.at(index));
        }
        return "";
    }

    /// An exact task's further runs must give the first one's bits: on the virtual GPU in another order of warps and
    /// blocks, on a GPU, which orders blocks as it likes, beside other work that disturbs it.
    Shown repeated(Case& one, Shown shown) {
        const bool cuda = device_.info().kind == DeviceKind::cuda;
        for (unsigned i = 1; i < (cuda ? kDeterminismRuns : 2); ++i) {
            Shown again =
                run(one, kPoison,
                    {.deadline_s = deadline_s(one), .schedule = cuda ? 0u : 1u, .count = false, .noise = cuda});
            if (again.outcome != Outcome::correct) return again;
            if (!same_bits(cases_.read_written(one), first_))
                return wrong(fmt::format("a second run{} gave other bits than the first",
                                         cuda ? "" : ", in another order of warps and blocks,"));
        }
        return shown;
    }

    Shown run(Case& one, std::byte poison, RunOptions options) {
        cases_.reset(one, poison);
        scratch_->reset(poison);
        for (const TensorSpec& input : task_.op->inputs)
            if (!input.inout) options.inputs.push_back(one.buffers.at(input.name));
        Execution execution = device_.run(launches_, options);
        stored_input_.clear();
        for (const TensorSpec& input : task_.op->inputs)
            if (std::ranges::find(execution.stored, one.buffers.at(input.name)) != execution.stored.end())
                stored_input_ = input.name;
        return {execution.outcome,
                {},
                std::move(execution.reports),
                std::move(execution.log),
                std::move(execution.counters)};
    }

    Shown judged(const Case& one, Shown shown, const Outputs& outputs) {
        shown.finding = cases_.judge(one, dense_outputs(task_, one.axes, outputs), one.own);
        if (!shown.finding.right()) shown.outcome = Outcome::wrong;
        return shown;
    }

    /// A stretch of time that no honest run needs, but short enough that a hanging one does not hold up a search: fifty
    /// times what the trusted implementation took.
    double deadline_s(const Case& one) const {
        if (options_.deadline_s > 0) return options_.deadline_s;
        if (device_.info().kind == DeviceKind::vgpu) return 60;
        if (one.trusted_ns > 0) return std::max(1.0, 50e-9 * one.trusted_ns);
        return 2 + static_cast<double>(bytes_of(task_, program_.axes(workload_))) * 1e-9;
    }

    static bool is_poison(const Tensor& tensor, int64_t index, std::byte poison) {
        const size_t size = size_bytes(tensor.dtype);
        const auto first = tensor.bytes.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(index) * size);
        return std::all_of(first, first + static_cast<std::ptrdiff_t>(size),
                           [&](std::byte byte) { return byte == poison; });
    }

    static bool same_element(const Tensor& a, const Tensor& b, int64_t index) {
        const size_t size = size_bytes(a.dtype), at = static_cast<size_t>(index) * size;
        return std::equal(a.bytes.begin() + static_cast<std::ptrdiff_t>(at),
                          a.bytes.begin() + static_cast<std::ptrdiff_t>(at + size),
                          b.bytes.begin() + static_cast<std::ptrdiff_t>(at));
    }

    bool may_be_unwritten(const Outputs& outputs) const {
        return std::any_of(task_.op->outputs.begin(), task_.op->outputs.end(), [&](const TensorSpec& output) {
            const Tensor dense = dense_rows(output, program_.axes(workload_), outputs.at(output.name));
            for (int64_t i = 0; i < dense.size(); ++i)
                if (is_poison(dense, i, kPoison)) return true;
            return false;
        });
    }

    /// What holds in both runs what it held before: kPoison, and `under` (empty: kOtherPoison).
    std::string unwritten_element(const Case& one, const Outputs& second, const Outputs& under) const {
        for (const TensorSpec& output : task_.op->outputs) {
            const Tensor before = dense_rows(output, one.axes, first_.at(output.name)),
                         after = dense_rows(output, one.axes, second.at(output.name));
            const Tensor held = under.empty() ? Tensor() : dense_rows(output, one.axes, under.at(output.name));
            int64_t count = 0, first = 0;
            for (int64_t i = after.size(); i-- > 0;)
                if (is_poison(before, i, kPoison) &&
                    (under.empty() ? is_poison(after, i, kOtherPoison) : same_element(after, held, i)))
                    ++count, first = i;
            if (count > 0)
                return fmt::format("{} element{} of the output {} never written, first {}", count,
                                   count == 1 ? "" : "s", output.name + (count == 1 ? " was" : " were"),
                                   element_name(output.name, before.shape, first));
        }
        return "";
    }

    static bool same_bits(const Outputs& a, const Outputs& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                          [](const auto& x, const auto& y) { return x.second.bytes == y.second.bytes; });
    }

    LoadedProgram& program_;
    size_t workload_;
    const Task& task_;
    Device& device_;
    Cases& cases_;
    const VerifyOptions& options_;
    Schedules& schedules_;
    std::map<std::string, BiasSums>& biases_;  // over the inputs `normal` of all workloads
    std::optional<Scratch> scratch_;
    std::vector<Launch> launches_;
    Outputs first_;
    std::string stored_input_;  // to which the last run stored, "" where to none (seen on the virtual GPU alone)
};

/// Adds reports so that one stands for each check at each line.
void add_reports(std::vector<Report>& all, const std::vector<Report>& more) {
    for (const Report& report : more) {
        const auto same = std::find_if(all.begin(), all.end(), [&](const Report& other) {
            return other.check == report.check && other.line == report.line;
        });
        if (same == all.end())
            all.push_back(report);
        else
            same->count += report.count;
    }
}

std::string log_of(const WorkloadVerdict& workload, const Shown& shown_input) {
    std::string text =
        fmt::format("{} at {} with the inputs `{}`", name(workload.outcome), shown(workload.axes), workload.input);
    if (!workload.detail.empty()) text += ": " + workload.detail;
    for (const Report& report : shown_input.reports)
        text += fmt::format("\n{}:{}: {}: {}", report.file, report.line, name(report.check), report.message);
    if (!shown_input.log.empty()) text += "\n" + shown_input.log;
    return text + "\n";
}

/// The criterion `bias` over all workloads; its finding stands with the last.
void judge_biases(const std::map<std::string, BiasSums>& biases, Verdict& verdict) {
    if (verdict.outcome != Outcome::correct || verdict.workloads.empty()) return;
    for (const auto& [name, sums] : biases) {
        if (!sums.has_power()) continue;
        const Finding finding = sums.finding(name);
        if (finding.right()) continue;
        WorkloadVerdict& last = verdict.workloads.back();
        last.outcome = verdict.outcome = Outcome::wrong;
        last.max_error = finding.error;
        last.bound = finding.bound;
        last.input = recuda::name(Battery::normal);
        last.detail = finding.detail + ", over all workloads";
        verdict.log += log_of(last, {});
        return;
    }
}

}  // namespace

Verified verify(LoadedProgram& program, const std::vector<Workload>& workloads, const Task& task, Device& device,
                Cases& cases, const VerifyOptions& options) {
    if (workloads.empty()) throw Error("task {} has no workloads to verify", task.name);
    Verified verified;
    Verdict& verdict = verified.verdict;
    verified.schedules.run = options.schedules;
    verified.schedules.bitwise = task.op->exact || !options.float_atomics;
    std::map<std::string, BiasSums> biases;
    const auto one_workload = [&](size_t index) {
        const Workload& workload = workloads[index];
        WorkloadVerdict result{.axes = workload.axes};
        WorkloadRun run(program, index, task, device, cases, options, verified.schedules, biases);
        for (const Input& input : workload.inputs) {
            const Battery battery = input.battery;
            if (options.stop.stop_requested()) {
                verified.stopped = true;
                return;
            }
            if (options.until && std::chrono::steady_clock::now() >= *options.until) {
                verified.complete = false;
                break;
            }
            const Shown shown = run.input(input);
            if (battery == Battery::normal && shown.counters) verified.counters[workload.axes] = shown.counters;
            result.outcome = worse(result.outcome, shown.outcome);
            const Finding& finding = shown.finding;
            if (shown.outcome != Outcome::correct || result.input.empty() ||
                finding.nearness() > Finding{result.max_error, result.bound, "", ""}.nearness()) {
                result.max_error = finding.error;
                result.bound = finding.bound;
                result.input = name(battery);
                result.detail = finding.detail;
            }
            if (shown.outcome == Outcome::correct) continue;
            add_reports(verdict.reports, shown.reports);
            verdict.log += log_of(result, shown);
            break;
        }
        verdict.outcome = worse(verdict.outcome, result.outcome);
        verdict.workloads.push_back(std::move(result));
    };
    for (size_t i = 0; i < workloads.size() && !verified.stopped; ++i) {
        try {
            one_workload(i);
        } catch (const DeviceLost&) {
            options.forget();  // an earlier candidate took the device's process with it: once more, with a new one
            one_workload(i);
        }
        const Outcome last = verdict.workloads.empty() ? Outcome::correct : verdict.workloads.back().outcome;
        if (device.info().kind == DeviceKind::cuda && (last == Outcome::faulted || last == Outcome::timed_out))
            options.forget();
        // What loops for ever here does so everywhere: finding that again for each workload costs most of all.
        const bool endless = std::any_of(verdict.reports.begin(), verdict.reports.end(),
                                         [](const Report& report) { return report.check == Check::runaway; });
        if (endless || (options.stop_at_failure && verdict.outcome != Outcome::correct)) break;
    }
    judge_biases(biases, verdict);
    verdict.log = bounded(verdict.log, kLogBytes);
    return verified;
}

}  // namespace recuda
