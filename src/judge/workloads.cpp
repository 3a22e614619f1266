#include "judge/workloads.h"

#include <algorithm>

#include "base/error.h"
#include "task/op.h"

namespace recuda {
namespace {

/// Not a power of two, no multiple of anything that a kernel is likely to tile rows by.
constexpr int64_t kAwkwardTokens = 5;

/// One token more than the most that is listed, up to this many: listed ones are multiples of 8, and so a kernel that
/// forgets what is left over behind its last whole tile of 8 to 128 rows is right for all of them.
constexpr int64_t kMostTokensAddedTo = 128;

int64_t tokens(const Axes& axes) {
    const auto found = axes.find("T");
    return found == axes.end() ? 1 : found->second;
}

bool is_screened(const Axes& axes) { return tokens(axes) <= kScreenedTokens; }

std::vector<Battery> whole_battery(const Op& op) {
    std::vector<Battery> inputs = all_batteries();
    if (!op.special_inputs) std::erase(inputs, Battery::special);
    return inputs;
}

/// Puts the first workload with so many tokens among the others, where it is not there yet.
void add_tokens(std::vector<Axes>& all, int64_t more) {
    Axes axes = all.front();
    axes["T"] = more;
    const auto behind = std::find_if(all.begin(), all.end(), [&](const Axes& one) { return tokens(one) > more; });
    if (std::find(all.begin(), all.end(), axes) == all.end()) all.insert(behind, axes);
}

/// The task's own workloads with the judge's additions among them, in falling order of what they find a second.
std::vector<Axes> own_workloads(const Task& task, DeviceKind device) {
    std::vector<Axes> all = device == DeviceKind::vgpu && !task.small.empty() ? task.small : task.verify;
    if (all.empty() || !all.front().contains("T") || task.axes.contains("T")) return all;
    int64_t most = 0;
    for (const Axes& axes : all)
        if (tokens(axes) <= kMostTokensAddedTo) most = std::max(most, tokens(axes));
    add_tokens(all, kAwkwardTokens);
    if (most >= kScreenedTokens) add_tokens(all, most + 1);
    return all;
}

}  // namespace

std::vector<Workload> verified_workloads(const Task& task, DeviceKind device, const std::vector<Axes>& given,
                                         Depth depth) {
    std::vector<Axes> all = given.empty() ? own_workloads(task, device) : given;
    if (depth == Depth::screen && given.empty()) {
        const auto fewest = std::min_element(all.begin(), all.end(),
                                             [](const Axes& a, const Axes& b) { return tokens(a) < tokens(b); });
        if (std::any_of(all.begin(), all.end(), is_screened))
            std::erase_if(all, [](const Axes& axes) { return !is_screened(axes); });
        else if (!all.empty())
            all = {*fewest};
    }
    if (all.empty()) throw Error("task {} has no workloads to verify", task.name);
    std::vector<Workload> workloads;
    const int64_t whole_up_to = given.empty() ? kScreenedTokens : kAskedTokens;
    for (const Axes& axes : all)
        workloads.push_back(
            {axes, tokens(axes) <= whole_up_to ? whole_battery(*task.op) : std::vector{Battery::normal}});
    return workloads;
}

std::vector<EstimatedWorkload> estimated_workloads(const Task& task, DeviceKind device,
                                                   const std::vector<Axes>& given) {
    std::vector<EstimatedWorkload> estimated, screened;
    for (const Workload& workload : verified_workloads(task, device, given, Depth::screen))
        screened.push_back({workload.axes});
    if (!given.empty()) return screened;
    for (const Axes& wanted : task.bench) {
        const EstimatedWorkload* nearest = nullptr;
        for (const EstimatedWorkload& one : screened) {
            Axes same = wanted;
            if (same.contains("T")) same["T"] = tokens(one.axes);
            if (same != one.axes || tokens(one.axes) > tokens(wanted)) continue;
            if (nearest == nullptr || tokens(one.axes) > tokens(nearest->axes)) nearest = &one;
        }
        if (nearest == nullptr) continue;
        estimated.push_back(
            {nearest->axes, static_cast<double>(tokens(wanted)) / static_cast<double>(tokens(nearest->axes))});
    }
    return estimated.empty() ? screened : estimated;
}

}  // namespace recuda
