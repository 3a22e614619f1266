#include "judge/oracle.h"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "build/builder.h"
#include "device/limits.h"
#include "judge/build.h"
#include "judge/cases.h"
#include "judge/corruptions.h"
#include "judge/oracle_inputs.h"
#include "judge/oracle_kernels.h"
#include "judge/own_program.h"
#include "judge/workloads.h"
#include "task/op.h"

namespace recuda {
namespace {

constexpr int64_t kMostTokens = 128;
constexpr double kClearly = 2;
constexpr std::byte kPoison{0xff};

/// The task with the constants that its op is to be tested with.
Task test_sized(Task task) {
    for (const auto& [axis, value] : task.op->tests.axes) {
        task.axes[axis] = value;
        for (std::vector<Axes>* all : {&task.verify, &task.bench, &task.small})
            for (Axes& axes : *all) axes[axis] = value;
    }
    return task;
}

std::vector<Workload> tested_workloads(const Task& task, uint64_t seed) {
    std::vector<Workload> workloads = verified_workloads(task, DeviceKind::vgpu, {}, Depth::whole, seed);
    std::erase_if(workloads, [](const Workload& workload) {
        const auto tokens = workload.axes.find("T");
        return tokens != workload.axes.end() && tokens->second > kMostTokens;
    });
    return workloads;
}

std::vector<Axes> axes_of(const std::vector<Workload>& workloads) {
    std::vector<Axes> all;
    for (const Workload& workload : workloads) all.push_back(workload.axes);
    return all;
}

class OracleTest {
 public:
    OracleTest(const Task& task, Device& device, Builder& builder, uint64_t seed)
        : task_(test_sized(task)),
          device_(device),
          builder_(builder),
          seed_(seed),
          limits_(limits_of(device.info())),
          workloads_(tested_workloads(task_, seed)),
          reference_(task_, device, builder, device.info().target),
          cases_(task_, device, reference_, seed) {
        if (workloads_.empty()) throw Error("task {} has no workload of at most {} tokens", task.name, kMostTokens);
        const std::optional<std::filesystem::path> plain = seed_named(*task_.op, "plain");
        if (!plain) throw Error("op {} has no plain seed", task_.op->name);
        reference_.prepare(axes_of(workloads_));
        cases_.trust(
            own_program({task_, device_, builder_, limits_, device_.info().target, axes_of(workloads_)}, *plain, {}));
        add_outputs();
        add_inputs();
        add_scalars();
        add_kernels(read_file(*plain));
        hide();
    }

    std::vector<OracleTrial> run() {
        for (const Workload& workload : workloads_)
            for (const Input& input : workload.inputs) {
                run_case(cases_.at(workload.axes, input.battery, static_cast<unsigned>(input.part)));
                cases_.trim();
            }
        std::vector<OracleTrial> shown;
        for (Trial& trial : trials_) shown.push_back(std::move(trial.shown));
        return shown;
    }

 private:
    /// One case with its right outputs.
    struct View {
        Case& one;
        Outputs right, other, answers;  // as stored; those of another seed; the reference's own
        Rng rng;
    };
    struct Trial {
        OracleTrial shown;
        std::function<std::optional<Outputs>(View&)> outputs;  // none where it changes nothing
    };

    void add(std::string change, bool honest, std::function<std::optional<Outputs>(View&)> outputs) {
        trials_.push_back({{.change = std::move(change), .honest = honest}, std::move(outputs)});
    }

    void add_outputs() {
        add("correctly rounded", true, [](View& view) { return view.right; });
        for (const TensorSpec* tensor : written_tensors(*task_.op)) {
            const bool places = !tensor->choice.empty() || task_.op->tests.ranked.contains(tensor->name);
            const bool bits = task_.op->exact || (!is_floating(tensor->dtype) && !places);
            std::set<std::string_view> known;
            const auto add_all = [&](const std::vector<Corruption>& all) {
                for (const Corruption& corruption : all)
                    if (known.insert(corruption.name).second) add_output(*tensor, corruption);
            };
            if (places) add_all(place_corruptions());
            if (bits) add_all(bit_corruptions());
            if (!places && !bits) add_all(float_corruptions());
        }
    }

    void add_output(const TensorSpec& tensor, const Corruption& corruption) {
        add(fmt::format("{}: {}", tensor.name, corruption.name), corruption.honest,
            [this, &tensor, &corruption](View& view) -> std::optional<Outputs> {
                const std::optional<Tensor> scores = scores_of(view, tensor);
                std::optional<Tensor> before;
                if (tensor.inout) before = dense_rows(tensor, view.one.axes, view.one.inputs.at(tensor.name));
                const auto expected = view.one.expected.find(tensor.name);
                const Tensor& right = view.right.at(tensor.name);
                Tensor changed = corruption.apply({tensor, right, view.other.at(tensor.name),
                                                   expected == view.one.expected.end() ? nullptr : &expected->second,
                                                   scores ? &*scores : nullptr, before ? &*before : nullptr, view.rng});
                if (changed.bytes == right.bytes) return std::nullopt;
                Outputs outputs = view.right;
                outputs.at(tensor.name) = std::move(changed);
                return outputs;
            });
    }

    /// What the places of an output rank.
    std::optional<Tensor> scores_of(const View& view, const TensorSpec& tensor) const {
        if (!tensor.choice.empty()) return view.answers.at(tensor.choice);
        const auto ranked = task_.op->tests.ranked.find(tensor.name);
        if (ranked == task_.op->tests.ranked.end()) return std::nullopt;
        return dense_rows(*task_.op->tensor(ranked->second), view.one.axes, view.one.inputs.at(ranked->second));
    }

    void add_inputs() {
        for (InputChange& change : input_changes(task_)) {
            add(change.name, change.honest, [this, change](View& view) -> std::optional<Outputs> {
                InputContents inputs = view.one.inputs;
                change.apply(view.one.axes, inputs);
                if (same(inputs, view.one.inputs)) return std::nullopt;
                Outputs outputs = rounded(answers(reference_, view.one.axes, inputs));
                if (change.column) change.column(view.right, outputs);
                if (same(outputs, view.right)) return std::nullopt;
                return outputs;
            });
        }
    }

    void add_scalars() {
        for (const ScalarChange& change : scalar_changes(task_)) {
            Task& task = *tasks_.emplace_back(std::make_unique<Task>(task_));
            task.scalars.at(change.scalar) = change.value;
            Reference& reference =
                *references_.emplace_back(std::make_unique<Reference>(task, device_, builder_, device_.info().target));
            reference.prepare(axes_of(workloads_));
            add(change.name, false, [this, &reference](View& view) -> std::optional<Outputs> {
                Outputs outputs = rounded(answers(reference, view.one.axes, view.one.inputs));
                if (same(outputs, view.right)) return std::nullopt;
                return outputs;
            });
        }
    }

    void add_kernels(const std::string& plain) {
        const std::vector<Axes> all = axes_of(workloads_);
        const std::vector<Variables> variables(all.begin(), all.end());
        const std::vector<OracleKernel> kernels = oracle_kernels(*task_.op, plain);
        std::vector<Order> orders;
        for (const OracleKernel& kernel : kernels) {
            auto file = std::make_shared<const KernelFile>(parse_kernel_file(kernel.text, "plain.cu", Language::cuda));
            std::optional<Point> point = first_legal_point(*file, variables, limits_);
            if (!point) throw Error("the plain seed of op {} has no legal point", task_.op->name);
            orders.push_back(order_of(make_candidate(std::move(file), std::move(*point)), task_, all, limits_,
                                      {.target = device_.info().target,
                                       .candidate = false,
                                       .cubin = device_.info().kind == DeviceKind::cuda}));
        }
        std::vector<Built> built = build_all(builder_, std::move(orders));
        for (size_t i = 0; i < kernels.size(); ++i) {
            if (built[i].outcome != Outcome::correct)
                throw Error("op {}, `{}`: {}: {}", task_.op->name, kernels[i].name, name(built[i].outcome),
                            built[i].log);
            LoadedProgram& program = *programs_.emplace_back(std::make_unique<LoadedProgram>(
                device_, std::move(built[i].compilation), std::move(built[i].binaries), limits_));
            add(kernels[i].name, kernels[i].honest,
                [this, &program, name = kernels[i].name](View& view) { return run_kernel(program, name, view.one); });
        }
    }

    void hide() {
        for (const std::string& hidden : task_.op->tests.hidden) {
            const auto found = std::find_if(trials_.begin(), trials_.end(),
                                            [&](const Trial& trial) { return trial.shown.change == hidden; });
            if (found == trials_.end())
                throw Error("[tests] of op {}: there is no corruption `{}` to be hidden", task_.op->name, hidden);
            found->shown.hidden = true;
        }
    }

    void run_case(Case& one) {
        const std::string at = fmt::format("{} {}", shown(one.axes), name(one.battery));
        View view{one, {}, {}, answers(reference_, one.axes, one.inputs), Rng(seed_, "oracle/" + at)};
        view.right = rounded(view.answers);
        view.other =
            rounded(answers(reference_, one.axes, make_inputs(task_, one.axes, one.battery, seed_ + 1, one.variant)));
        for (Trial& trial : trials_) {
            OracleTrial& shown = trial.shown;
            if (!shown.honest && shown.nearness >= kClearly) continue;
            const std::optional<Outputs> outputs = trial.outputs(view);
            if (!outputs) continue;
            const Finding finding = cases_.judge(one, *outputs, one.own);
            ++shown.cases;
            if (!finding.right()) shown.accepted = false;
            if (shown.cases > 1 && finding.nearness() <= shown.nearness) continue;
            shown.nearness = finding.nearness();
            shown.criterion = finding.criterion;
            shown.at = at;
        }
    }

    Outputs run_kernel(LoadedProgram& program, const std::string& change, Case& one) {
        const size_t workload = program.workload_of(one.axes);
        Scratch scratch(device_, program.plan(workload));
        cases_.reset(one, kPoison);
        scratch.reset(kPoison);
        const std::vector<Launch> launches = program.launches(workload, merged(one.buffers.places(), scratch.places()));
        const Execution execution = device_.run(launches, {.deadline_s = 120, .checks = true, .count = false});
        if (execution.outcome != Outcome::correct)
            throw Error("op {}, `{}` at {}: {} ({})", task_.op->name, change, shown(one.axes), name(execution.outcome),
                        execution.reports.empty() ? execution.log : execution.reports.front().message);
        return dense_outputs(task_, one.axes, cases_.read_written(one));
    }

    Outputs answers(Reference& reference, const Axes& axes, const InputContents& inputs) {
        Buffers buffers(device_);
        for (const auto& [name, contents] : inputs)
            device_.write(buffers.add(name, contents.bytes.size()), 0, contents.bytes);
        return reference.answer(axes, buffers.places());
    }

    /// What an exact implementation would store.
    Outputs rounded(const Outputs& answers) const {
        Outputs outputs;
        for (const TensorSpec* tensor : written_tensors(*task_.op)) {
            const Tensor& answer = answers.at(tensor->name);
            Tensor stored(tensor->dtype, answer.shape);
            set_each(stored, 0, stored.size(), [&](int64_t i) { return answer.at(i); });
            outputs.emplace(tensor->name, std::move(stored));
        }
        return outputs;
    }

    template <typename Tensors>
    static bool same(const Tensors& a, const Tensors& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                          [](const auto& x, const auto& y) { return x.second.bytes == y.second.bytes; });
    }

    const Task task_;
    Device& device_;
    Builder& builder_;
    const uint64_t seed_;
    const DeviceLimits limits_;
    const std::vector<Workload> workloads_;
    Reference reference_;
    Cases cases_;
    std::vector<std::unique_ptr<Task>> tasks_;  // with other scalars
    std::vector<std::unique_ptr<Reference>> references_;
    std::vector<std::unique_ptr<LoadedProgram>> programs_;
    std::vector<Trial> trials_;
};

}  // namespace

std::vector<OracleTrial> test_oracle(const Task& task, Device& device, Builder& builder, uint64_t seed) {
    return OracleTest(task, device, builder, seed).run();
}

Json to_json(const OracleTrial& trial) {
    return {{"change", json_text(trial.change)},
            {"expect", trial.hidden   ? "either"
                       : trial.honest ? "accepted"
                                      : "rejected"},
            {"got", trial.cases == 0 ? "not_applicable"
                    : trial.accepted ? "accepted"
                                     : "rejected"},
            {"nearness", json_number(trial.nearness)},
            {"criterion", json_text(trial.criterion)},
            {"at", trial.at},
            {"cases", trial.cases},
            {"passed", trial.passed()}};
}

}  // namespace recuda
