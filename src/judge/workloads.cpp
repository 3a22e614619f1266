#include "judge/workloads.h"

#include <algorithm>

#include "base/error.h"
#include "base/rng.h"
#include "judge/inputs.h"
#include "task/op.h"

namespace recuda {
namespace {

/// Not a power of two, no multiple of anything that a kernel is likely to tile rows by.
constexpr int64_t kAwkwardTokens = 5;

/// One token more than the most that is listed, up to this many: listed ones are multiples of 8, and so a kernel that
/// forgets what is left over behind its last whole tile of 8 to 128 rows is right for all of them.
constexpr int64_t kMostTokensAddedTo = 128;

/// Kinds of the battery that a workload with many tokens gets beside `normal` and `crowd`.
constexpr int64_t kOtherKinds = 2;

bool is_screened(const Axes& axes) { return tokens_of(axes) <= kScreenedTokens; }

std::vector<Input> whole_battery(const Op& op) {
    std::vector<Input> inputs;
    for (const Battery battery : all_batteries())
        if (battery != (op.special_inputs ? Battery::infinite : Battery::special)) inputs.push_back({battery});
    return inputs;
}

void add_parts(std::vector<Input>& inputs, const Task& task, const Axes& axes, Battery battery) {
    for (int64_t part = 0, all = parts_of(task, axes, battery); part < all; ++part) inputs.push_back({battery, part});
}

bool has_weights(const Task& task) {
    return std::any_of(task.op->inputs.begin(), task.op->inputs.end(),
                       [&](const TensorSpec& tensor) { return tensor.battery && is_weight(task, tensor); });
}

/// Inputs of a workload with many tokens: a row of each kind at least, the kinds that change weights, and a few more,
/// others for each seed and number of tokens.
std::vector<Input> inputs_of_many(const Task& task, const Axes& axes, uint64_t seed) {
    std::vector<Input> inputs{{Battery::normal}};
    add_parts(inputs, task, axes, Battery::crowd);
    if (tokens_of(axes) > kMostTokensAddedTo + 1) return inputs;
    std::vector<Input> others = whole_battery(*task.op);
    others.erase(others.begin());
    // Weights are changed by these kinds alone.
    if (has_weights(task))
        for (const Battery battery : {Battery::ties, Battery::negative, Battery::special})
            if (std::erase_if(others, [&](const Input& other) { return other.battery == battery; }) > 0)
                inputs.push_back({battery});
    Rng rng(seed, "kinds of " + shown(axes));
    for (int64_t i = 0; i < kOtherKinds; ++i) {
        const auto at = others.begin() + static_cast<std::ptrdiff_t>(rng.below(others.size()));
        inputs.push_back(*at);
        others.erase(at);
    }
    return inputs;
}

/// Puts the first workload with so many tokens among the others, where it is not there yet.
void add_tokens(std::vector<Axes>& all, int64_t more) {
    Axes axes = all.front();
    axes["T"] = more;
    const auto behind = std::find_if(all.begin(), all.end(), [&](const Axes& one) { return tokens_of(one) > more; });
    if (std::find(all.begin(), all.end(), axes) == all.end()) all.insert(behind, axes);
}

/// A number of tokens beside a power of two, below the most: others for each seed.
int64_t secret_tokens(int64_t most, uint64_t seed) {
    std::vector<int64_t> choices;
    for (int64_t power = 16; power <= most; power *= 2)
        for (const int64_t beside : {power - 1, power + 1})
            if (beside <= most) choices.push_back(beside);
    return choices.empty() ? 0 : choices[Rng(seed, "tokens").below(choices.size())];
}

/// The task's own workloads with the judge's additions among them.
std::vector<Axes> own_workloads(const Task& task, DeviceKind device, Depth depth, uint64_t seed) {
    std::vector<Axes> all = device == DeviceKind::vgpu && !task.small.empty() ? task.small : task.verify;
    if (all.empty() || !all.front().contains("T") || task.axes.contains("T")) return all;
    int64_t most = 0;
    for (const Axes& axes : all)
        if (tokens_of(axes) <= kMostTokensAddedTo) most = std::max(most, tokens_of(axes));
    add_tokens(all, kAwkwardTokens);
    if (depth == Depth::screen) return all;
    for (int64_t few = 1; few <= kScreenedTokens; ++few) add_tokens(all, few);
    if (most >= kScreenedTokens) add_tokens(all, most + 1);
    if (const int64_t secret = secret_tokens(most, seed)) add_tokens(all, secret);
    return all;
}

}  // namespace

int64_t tokens_of(const Axes& axes) {
    const auto found = axes.find("T");
    return found == axes.end() ? 1 : found->second;
}

std::vector<Workload> verified_workloads(const Task& task, DeviceKind device, const std::vector<Axes>& given,
                                         Depth depth, uint64_t seed) {
    std::vector<Axes> all = given.empty() ? own_workloads(task, device, depth, seed) : given;
    if (depth == Depth::screen && given.empty()) {
        const auto fewest = std::min_element(all.begin(), all.end(),
                                             [](const Axes& a, const Axes& b) { return tokens_of(a) < tokens_of(b); });
        if (std::any_of(all.begin(), all.end(), is_screened))
            std::erase_if(all, [](const Axes& axes) { return !is_screened(axes); });
        else if (!all.empty())
            all = {*fewest};
    }
    if (all.empty()) throw Error("task {} has no workloads to verify", task.name);
    const std::vector<Axes> screened = given.empty() ? own_workloads(task, device, Depth::screen, seed) : given;
    std::vector<Workload> workloads;
    for (const Axes& axes : all) {
        const bool own = std::find(screened.begin(), screened.end(), axes) != screened.end();
        const bool whole = own && tokens_of(axes) <= (given.empty() ? kScreenedTokens : kAskedTokens);
        Workload& workload = workloads.emplace_back(Workload{axes, {}});
        if (is_screened(axes) && !own)
            workload.inputs = {{Battery::normal}, {Battery::crowd}};
        else
            workload.inputs = whole ? whole_battery(*task.op) : inputs_of_many(task, axes, seed);
        if (whole && !is_screened(axes)) add_parts(workload.inputs, task, axes, Battery::crowd);
    }
    if (depth == Depth::whole && given.empty()) {
        const auto most = std::find_if(workloads.rbegin(), workloads.rend(), [](const Workload& workload) {
            return tokens_of(workload.axes) <= kMostTokensAddedTo + 1;
        });
        if (most != workloads.rend()) add_parts(most->inputs, task, most->axes, Battery::columns);
    }
    return workloads;
}

std::vector<EstimatedWorkload> estimated_workloads(const Task& task, DeviceKind device,
                                                   const std::vector<Axes>& given) {
    std::vector<EstimatedWorkload> estimated, screened;
    for (const Workload& workload : verified_workloads(task, device, given, Depth::screen, 0))
        screened.push_back({workload.axes});
    if (!given.empty()) return screened;
    for (const Axes& wanted : task.bench) {
        const EstimatedWorkload* nearest = nullptr;
        for (const EstimatedWorkload& one : screened) {
            Axes same = wanted;
            if (same.contains("T")) same["T"] = tokens_of(one.axes);
            if (same != one.axes || tokens_of(one.axes) > tokens_of(wanted)) continue;
            if (nearest == nullptr || tokens_of(one.axes) > tokens_of(nearest->axes)) nearest = &one;
        }
        if (nearest == nullptr) continue;
        estimated.push_back(
            {nearest->axes, static_cast<double>(tokens_of(wanted)) / static_cast<double>(tokens_of(nearest->axes))});
    }
    return estimated.empty() ? screened : estimated;
}

}  // namespace recuda
