#include "cli/task_oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "base/json.h"
#include "build/builder.h"
#include "cli/command_line.h"
#include "cli/device_choice.h"
#include "device/device.h"
#include "judge/oracle.h"
#include "task/op.h"
#include "task/task.h"

namespace recuda {
namespace {

std::string result_of(const OracleTrial& trial) {
    if (trial.cases == 0) return "does not apply";
    return fmt::format("{}{}", trial.accepted ? "accepted" : "rejected",
                       trial.passed() ? (trial.hidden ? ", may be either" : "") : "  <- WRONG");
}

std::string table(const std::vector<OracleTrial>& trials) {
    std::string text;
    for (const bool honest : {false, true}) {
        text += honest ? "\nmust be accepted\n" : "must be rejected\n";
        for (const OracleTrial& trial : trials)
            if (trial.honest == honest)
                text += fmt::format("  {:<50} {:<15} {:>9.3g} of its bound  {} ({})\n", trial.change, result_of(trial),
                                    trial.nearness, trial.criterion, trial.at);
    }
    return text;
}

}  // namespace

int test_task_oracle(const CommandLine& line, const Task& task, const DeviceChoice& choice) {
    const uint64_t seed = choice.seed != 0 ? choice.seed : std::random_device{}();
    const std::unique_ptr<Device> device = make_device(choice);
    const std::unique_ptr<Builder> builder = make_builder();
    const std::vector<OracleTrial> trials = test_oracle(task, *device, *builder, seed);
    const auto failed = std::count_if(trials.begin(), trials.end(), [](const auto& trial) { return !trial.passed(); });
    if (line.json()) {
        Json changes = Json::array();
        for (const OracleTrial& trial : trials) changes.push_back(to_json(trial));
        print_json(
            {{"task", task.name}, {"op", task.op->name}, {"seed", seed}, {"changes", changes}, {"failed", failed}});
    } else {
        print_text(fmt::format("{}: {} changes tried with seed {}, {} judged wrongly\n\n{}", task.name, trials.size(),
                               seed, failed, table(trials)));
    }
    return failed == 0 ? 0 : 3;
}

}  // namespace recuda
