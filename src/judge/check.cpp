#include "judge/judge.h"
#include "judge/session.h"

namespace recuda {

std::vector<Checked> check(const Task& task, std::unique_ptr<Device> device, Builder& builder,
                           std::span<const Candidate> candidates, const JudgeOptions& options) {
    Session session(task, std::move(device), builder, options);
    std::vector<Order> orders;
    for (const Candidate& candidate : candidates) orders.push_back(session.order(candidate, Depth::whole));
    std::vector<Built> built = build_all(builder, std::move(orders));
    std::vector<Checked> checked;
    for (size_t i = 0; i < candidates.size(); ++i) {
        Judged judged = session.judge(candidates[i], std::move(built[i]), Depth::whole, false, {});
        checked.push_back(
            {std::move(judged.evaluation), std::move(judged.launches), judged.schedules, std::move(judged.counters)});
    }
    return checked;
}

}  // namespace recuda
