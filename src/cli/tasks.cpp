// `cuda-rlm tasks`: the catalogue.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/text.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/device_choice.h"
#include "cli/task_oracle.h"
#include "task/catalogue.h"

namespace recuda {
namespace {

/// Files relative to the catalogue's folder.
Json kernels_of(const Task& task, const std::filesystem::path& home) {
    Json files = Json::array();
    for (const std::filesystem::path& file : seed_files(*task.op))
        files.push_back(shown(file.lexically_relative(home)));
    return files;
}

Json described(const Task& task, bool whole, const std::filesystem::path& home) {
    Json json = to_json(task, whole);
    json["kernels"] = kernels_of(task, home);
    return json;
}

std::string table(const std::vector<const Task*>& tasks) {
    size_t width = 4, op_width = 2;
    for (const Task* task : tasks) {
        width = std::max(width, task->name.size());
        op_width = std::max(op_width, task->op->name.size());
    }
    std::string text = fmt::format("{:<{}}  {:<{}}  {}\n", "TASK", width, "OP", op_width, "CONSTANTS");
    for (const Task* task : tasks)
        text += fmt::format("{:<{}}  {:<{}}  {}\n", task->name, width, task->op->name, op_width, shown(task->axes));
    return text;
}

std::string tensor_line(const TensorSpec& tensor) {
    std::vector<std::string> extents;
    for (const Expression& extent : tensor.shape) extents.push_back(extent.text());
    return fmt::format("  {:<8} {:<5} [{}]{}{}\n", tensor.name, name(tensor.dtype), joined(extents, ", "),
                       tensor.inout ? ", read and written" : "",
                       tensor.row_stride ? ", rows " + tensor.row_stride->text() + " elements apart" : "");
}

std::string description(const Task& task) {
    const Op& op = *task.op;
    std::string text = fmt::format("{}: {}\n{}\n\nop {} of {}; {}\n\ninputs\n", task.name, op.summary, task.model,
                                   op.name, op.source, shown(task.axes));
    for (const TensorSpec& tensor : op.inputs) text += tensor_line(tensor);
    for (const ScalarSpec& scalar : op.scalars)
        text += fmt::format("  {:<8} {:<5} = {}\n", scalar.name, name(scalar.dtype), task.scalars.at(scalar.name));
    text += "outputs\n";
    for (const TensorSpec& tensor : op.outputs) text += tensor_line(tensor);
    for (const auto& [option, value] : task.options)
        text += fmt::format("option {} = {}: {}\n", option, value, op.option(option)->about);
    text += fmt::format("\n{:>10}  {:>14}  {:>14}  {}\n", "workload", "bytes", "flops", "used to");
    std::vector<Axes> all = task.verify;
    for (const Axes& axes : task.bench)
        if (std::find(all.begin(), all.end(), axes) == all.end()) all.push_back(axes);
    for (const Axes& axes : all) {
        const bool verified = std::find(task.verify.begin(), task.verify.end(), axes) != task.verify.end();
        const bool timed = std::find(task.bench.begin(), task.bench.end(), axes) != task.bench.end();
        Axes varying = axes;
        std::erase_if(varying, [&](const auto& axis) {
            return task.axes.contains(axis.first) && task.axes.at(axis.first) == axis.second;
        });
        text += fmt::format("{:>10}  {:>14}  {:>14}  {}\n", shown(varying), bytes_of(task, axes), flops_of(task, axes),
                            verified && timed ? "verify, bench"
                            : verified        ? "verify"
                                              : "bench");
    }
    return text;
}

}  // namespace

int tasks_command(CommandLine& line) {
    std::string name, family;
    bool oracle = false;
    DeviceChoice device{.device = "vgpu"};
    line.word("NAME", name, "A task, shown whole: nano30b_rmsnorm, or path/to/file.toml#name for your own", false);
    line.option("--family", "F", family, "Only the tasks of this model family");
    line.flag("--test-oracle", oracle,
              "Try corruptions that the judge must reject and honest results that it must accept of NAME's op");
    device.declare(line);
    line.example("cuda-rlm tasks nano30b_rmsnorm");
    if (!line.parse()) return 0;
    if (!name.empty() && !family.empty()) throw UsageError("tasks takes a NAME or --family, not both");
    if (oracle && name.empty()) throw UsageError("--test-oracle needs the NAME of a task");

    Catalogue catalogue(home_folder());
    if (!name.empty()) {
        const Task task = catalogue.task(name);
        if (oracle) return test_task_oracle(line, task, device);
        if (line.json())
            print_json(described(task, true, catalogue.home()));
        else
            print_text(description(task));
        return 0;
    }
    std::vector<const Task*> chosen;
    std::vector<std::string> families;
    for (const Task& task : catalogue.tasks()) {
        if (family.empty() || task.family == family) chosen.push_back(&task);
        families.push_back(task.family);
    }
    if (chosen.empty()) throw UsageError("there is no family {}{}", valid_utf8(family), did_you_mean(family, families));
    if (!line.json()) {
        print_text(table(chosen));
        return 0;
    }
    Json list = Json::array();
    for (const Task* task : chosen) list.push_back(described(*task, false, catalogue.home()));
    print_json(list);
    return 0;
}

}  // namespace recuda
