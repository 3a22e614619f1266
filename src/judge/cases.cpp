#include "judge/cases.h"

#include <algorithm>
#include <cstring>

#include "base/rng.h"
#include "device/hash.h"
#include "judge/choice.h"
#include "task/op.h"

namespace recuda {
namespace {

// Of all cases: those of a projection's weights (30 of 110 MB) must fit, or every candidate has them made again. On a
// GPU half of it is not in the host's memory.
constexpr uint64_t kBudgetBytes = uint64_t{1} << 30, kGpuBudgetBytes = uint64_t{4} << 30;

const TensorSpec& auxiliary(const Op& op, const std::string& name) {
    return *std::find_if(op.auxiliaries.begin(), op.auxiliaries.end(),
                         [&](const TensorSpec& tensor) { return tensor.name == name; });
}

/// Errors with which the trusted implementation is held against the floor alone, doubled: its own luck must not fail
/// it.
std::map<std::string, OwnError, std::less<>> doubled_floors(const Case& one) {
    std::map<std::string, OwnError, std::less<>> own;
    for (const auto& [name, expected] : one.expected)
        own[name] = {2 * expected.floor, expected.mean_magnitude, std::vector<double>(expected.row_norm.size(), 0)};
    return own;
}

}  // namespace

uint64_t Case::bytes() const {
    uint64_t bytes = 0;
    for (const auto& [name, tensor] : inputs) bytes += 2 * tensor.bytes.size();
    for (const auto& [name, tensor] : answers) bytes += tensor.bytes.size();
    for (const auto& [name, one] : expected) bytes += one.values.size() * sizeof(double);
    return bytes;
}

Outputs dense_outputs(const Task& task, const Axes& axes, const Outputs& buffers) {
    Outputs dense;
    for (const TensorSpec* tensor : written_tensors(*task.op))
        dense.emplace(tensor->name, dense_rows(*tensor, axes, buffers.at(tensor->name)));
    return dense;
}

Cases::Cases(const Task& task, Device& device, Reference& reference, uint64_t seed)
    : task_(task), device_(device), reference_(reference), seed_(seed) {}

void Cases::trust(std::unique_ptr<LoadedProgram> trusted) { trusted_ = std::move(trusted); }

Case& Cases::at(const Axes& axes, Battery battery, unsigned variant) {
    std::unique_ptr<Case>& kept = cases_[{axes, battery, variant}];
    if (!kept) {
        // Complete before it is kept: a device that is lost on the way must not leave half of one behind.
        auto made = std::make_unique<Case>(device_);
        made->axes = axes;
        made->battery = battery;
        made->variant = variant;
        const bool part = has_parts(battery);
        made->inputs = make_inputs(task_, axes, battery, variant == 0 || part ? seed_ : Rng(seed_ + variant).next(),
                                   part ? variant : 0);
        if (device_.info().kind == DeviceKind::cuda)
            for (const auto& [name, contents] : made->inputs) made->hashes[name] = hash_of(contents.bytes);
        load(*made, made->buffers, Guard::after);
        answer(*made);
        measure_trusted(*made);
        kept = std::move(made);
    }
    if (kept->buffers.empty()) load(*kept, kept->buffers, Guard::after);
    kept->last_use = ++uses_;
    return *kept;
}

Buffers& Cases::moved(Case& one) {
    if (one.moved.empty()) load(one, one.moved, Guard::before);
    return one.moved;
}

void Cases::load(Case& one, Buffers& buffers, Guard guard) {
    try {
        for (const auto& [name, contents] : one.inputs)
            device_.write(buffers.add(name, contents.bytes.size(), guard), 0, contents.bytes);
        for (const TensorSpec& output : task_.op->outputs)
            buffers.add(output.name,
                        static_cast<uint64_t>(buffer_elements(output, one.axes)) * size_bytes(output.dtype), guard);
    } catch (...) {
        buffers.clear();
        throw;
    }
}

void Cases::answer(Case& one) {
    one.answers = reference_.answer(one.axes, one.buffers.places());
    for (const TensorSpec* tensor : written_tensors(*task_.op))
        if (tensor->choice.empty())
            one.expected.emplace(tensor->name, expected_of(one, *tensor, one.answers.at(tensor->name)));
    if (one.battery == Battery::normal)
        for (const Outputs& other : reference_.other_roundings(one.axes, one.buffers.places()))
            for (auto& [name, expected] : one.expected)
                if (is_floating(expected.dtype))
                    expected.other_bias =
                        std::max(expected.other_bias, own_error(expected, values_of(other.at(name))).bias);
    // Of the answers as they were only those are asked for again that another output is judged by.
    std::erase_if(one.answers, [&](const auto& answer) {
        return std::none_of(task_.op->outputs.begin(), task_.op->outputs.end(), [&](const TensorSpec& output) {
            return output.choice == answer.first || output.given == answer.first;
        });
    });
}

Expected Cases::expected_of(const Case& one, const TensorSpec& spec, const Tensor& answer) const {
    return expect(spec.name, spec.dtype, shape_of(spec, one.axes), values_of(answer), one.battery == Battery::normal);
}

void Cases::measure_trusted(Case& one) {
    // Of an exact op nothing is compared with its errors, and a walk over columns has a thousand rows.
    if (!trusted_ || (task_.op->exact && one.battery == Battery::columns)) return;
    const size_t workload = trusted_->workload_of(one.axes);
    if (workload == trusted_->workloads()) return;
    Scratch scratch(device_, trusted_->plan(workload));
    reset(one, std::byte{0xff});
    scratch.reset(std::byte{0xff});
    const std::vector<Launch> launches = trusted_->launches(workload, merged(one.buffers.places(), scratch.places()));
    const Execution execution = device_.run(launches, {.deadline_s = 120, .checks = false, .count = false});
    if (execution.outcome == Outcome::unsupported) return;
    if (execution.outcome != Outcome::correct)
        throw Error("the plain seed of op {} does not run at {}: {} ({})", task_.op->name, shown(one.axes),
                    name(execution.outcome), execution.log);
    one.trusted_ns = execution.gpu_ns;
    const Outputs outputs = dense_outputs(task_, one.axes, read_written(one));
    const Finding finding = judge(one, outputs, doubled_floors(one));
    if (!finding.right())
        throw Error("the plain seed of op {} disagrees with its reference at {} with the inputs `{}`: {}",
                    task_.op->name, shown(one.axes), name(one.battery), finding.detail);
    for (const TensorSpec* tensor : written_tensors(*task_.op)) {
        if (!is_floating(tensor->dtype)) continue;
        const std::vector<double> seen = values_of(outputs.at(tensor->name));
        const Expected& expected = one.expected.at(tensor->name);
        one.own[tensor->name] = tensor->given.empty()
                                    ? own_error(expected, seen)
                                    : own_error(given_other(one, *tensor, outputs.at(tensor->given)), seen);
    }
}

void Cases::reset(Case& one, std::byte poison) {
    for (const TensorSpec& input : task_.op->inputs)
        if (input.inout) device_.write(one.buffers.at(input.name), 0, one.inputs.at(input.name).bytes);
    for (const TensorSpec& output : task_.op->outputs) device_.fill(one.buffers.at(output.name), poison, true);
}

Outputs Cases::read_written(const Buffers& buffers, const Axes& axes) {
    Outputs outputs;
    for (const TensorSpec* tensor : written_tensors(*task_.op)) {
        Tensor whole(tensor->dtype, {buffer_elements(*tensor, axes)});
        device_.read(buffers.at(tensor->name), 0, whole.bytes);
        outputs.emplace(tensor->name, std::move(whole));
    }
    return outputs;
}

/// Hashes are compared where they are made on the device, bytes only where they differ.
std::string Cases::changed_input(Case& one, const Buffers& buffers) {
    for (const TensorSpec& input : task_.op->inputs) {
        if (input.inout) continue;
        const std::vector<std::byte>& wanted = one.inputs.at(input.name).bytes;
        const BufferId buffer = buffers.at(input.name);
        if (const Region whole{buffer, 0, wanted.size()};
            device_.info().kind == DeviceKind::cuda &&
            device_.hashes(std::span(&whole, 1)).front() == one.hashes.at(input.name))
            continue;
        if (read_back_.size() < wanted.size()) read_back_.resize(wanted.size());
        const std::span<std::byte> seen = std::span(read_back_).first(wanted.size());
        device_.read(buffer, 0, seen);
        if (std::memcmp(seen.data(), wanted.data(), wanted.size()) == 0) continue;
        device_.write(buffer, 0, wanted);
        const auto at =
            static_cast<int64_t>(std::mismatch(seen.begin(), seen.end(), wanted.begin()).first - seen.begin()) /
            size_bytes(input.dtype);
        return fmt::format("the input {} was overwritten, first at element {}", input.name, at);
    }
    return "";
}

Finding Cases::judge(const Case& one, const Outputs& outputs, const std::map<std::string, OwnError, std::less<>>& own) {
    Finding worst;
    for (const TensorSpec* tensor : written_tensors(*task_.op)) {
        const auto found = own.find(tensor->name);
        worst =
            worse(std::move(worst), judge_one(one, *tensor, outputs, found == own.end() ? nullptr : &found->second));
        if (!worst.right()) return worst;  // what is `given` a wrong choice cannot be judged
    }
    return worst;
}

std::map<std::string, BiasSums> Cases::biases(const Case& one, const Outputs& outputs) const {
    std::map<std::string, BiasSums> all;
    for (const auto& [name, expected] : one.expected) {
        const Tensor& seen = outputs.at(name);
        // What is given a choice is compared for the candidate's own.
        const TensorSpec* spec = task_.op->tensor(name);
        if (task_.op->exact || !is_floating(seen.dtype) || spec == nullptr || !spec->given.empty()) continue;
        const auto own = one.own.find(name);
        all.emplace(name, bias_sums(expected, values_of(seen), own == one.own.end() ? nullptr : &own->second));
    }
    return all;
}

Finding Cases::judge_one(const Case& one, const TensorSpec& spec, const Outputs& outputs, const OwnError* own) {
    const Tensor& seen = outputs.at(spec.name);
    if (!spec.choice.empty()) {
        Tensor scores = one.answers.at(spec.choice);
        scores.shape = shape_of(auxiliary(*task_.op, spec.choice), one.axes);
        return compare_choice(spec.name, seen, scores);
    }
    const Expected& expected = one.expected.at(spec.name);
    if (task_.op->exact || !is_floating(spec.dtype)) return compare_exactly(expected, seen);
    if (spec.given.empty() || outputs.at(spec.given).bytes == one.answers.at(spec.given).bytes)
        return compare(expected, values_of(seen), own);
    return compare(given_other(one, spec, outputs.at(spec.given)), values_of(seen), own);
}

Expected Cases::given_other(const Case& one, const TensorSpec& spec, const Tensor& chosen) {
    return expected_of(one, spec, reference_.answer_given(one.axes, one.buffers.places(), spec, chosen));
}

void Cases::trim() {
    uint64_t total = 0;
    for (const auto& [key, one] : cases_) total += one->bytes();
    const uint64_t budget = device_.info().kind == DeviceKind::cuda ? kGpuBudgetBytes : kBudgetBytes;
    while (total > budget && cases_.size() > 1) {
        const auto oldest = std::min_element(cases_.begin(), cases_.end(), [](const auto& a, const auto& b) {
            return a.second->last_use < b.second->last_use;
        });
        total -= oldest->second->bytes();
        cases_.erase(oldest);
    }
}

void Cases::forget() {
    for (const auto& [key, one] : cases_)
        if (one) one->buffers.clear(), one->moved.clear();
    if (trusted_) trusted_->forget();
    reference_.forget();
}

void Cases::reseed(uint64_t seed) {
    cases_.clear();
    seed_ = seed;
}

}  // namespace recuda
