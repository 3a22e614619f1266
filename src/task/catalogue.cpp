#include "task/catalogue.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "task/toml.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> sorted_entries(const fs::path& folder, std::initializer_list<std::string_view> extensions) {
    std::vector<fs::path> found;
    std::error_code problem;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, problem))
        if (std::find(extensions.begin(), extensions.end(), entry.path().extension().native()) != extensions.end())
            found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
}

int64_t integer(const TomlTable& table, std::string_view key, const toml::node& node) {
    const auto value = node.value_exact<int64_t>();
    if (!value || *value < 1) table.fail(key, fmt::format("`{}` must be a whole number from 1 on", key));
    if (*value > kLargestAxis) table.fail(key, fmt::format("`{}` is {}; kernels take axes as 32-bit int", key, *value));
    return *value;
}

Axes read_axes(const TomlTable& table, const Op& op) {
    Axes axes;
    for (const std::string& key : table.keys()) {
        if (!op.has_axis(key)) table.fail(key, fmt::format("the op {} has no axis {}", op.name, key));
        axes[key] = integer(table, key, *table.raw().get(key));
    }
    return axes;
}

std::map<std::string, double> read_scalars(const TomlTable& table, const Op& op) {
    std::map<std::string, double> scalars;
    for (const std::string& key : table.keys()) {
        if (op.scalar(key) == nullptr) table.fail(key, fmt::format("the op {} has no scalar {}", op.name, key));
        const auto value = table.raw().get(key)->value<double>();
        if (!value || !std::isfinite(*value)) table.fail(key, fmt::format("`{}` must be a finite number", key));
        scalars[key] = *value;
    }
    return scalars;
}

std::map<std::string, std::string> read_options(const TomlTable& table, const Op& op) {
    std::map<std::string, std::string> options;
    for (const OptionSpec& option : op.options) options[option.name] = option.default_value;
    for (const std::string& key : table.keys()) {
        const OptionSpec* option = op.option(key);
        if (option == nullptr) table.fail(key, fmt::format("the op {} has no option {}", op.name, key));
        options[key] = table.text(key);
        if (std::find(option->values.begin(), option->values.end(), options[key]) == option->values.end())
            table.fail(key, fmt::format("`{}` is none of the values of {}: {}", options[key], key,
                                        joined(option->values, ", ")));
    }
    return options;
}

/// `{ T = [1, 8], V = 1024 }`: the product of all lists, the constants below it.
std::vector<Axes> read_workloads(const TomlTable& table, const Task& task) {
    std::vector<Axes> workloads{task.axes};
    for (const std::string& key : table.keys()) {
        if (!task.op->has_axis(key)) table.fail(key, fmt::format("the op {} has no axis {}", task.op->name, key));
        std::vector<int64_t> values;
        const toml::node& node = *table.raw().get(key);
        if (const toml::array* array = node.as_array())
            for (const toml::node& element : *array) values.push_back(integer(table, key, element));
        else
            values.push_back(integer(table, key, node));
        if (values.empty()) table.fail(key, fmt::format("`{}` lists no values, so there is nothing to judge", key));
        std::vector<Axes> product;
        for (const Axes& axes : workloads)
            for (const int64_t value : values) {
                product.push_back(axes);
                product.back()[key] = value;
            }
        workloads = std::move(product);
    }
    for (const Axes& axes : workloads)
        for (const Axis& axis : task.op->axes)
            if (!axes.contains(axis.name))
                throw Error("{}: the task {} binds no value to the axis {}", table.file(), task.name, axis.name);
    return workloads;
}

void check_scalars(const TomlTable& table, const Task& task) {
    for (const ScalarSpec& scalar : task.op->scalars)
        if (!task.scalars.contains(scalar.name))
            table.fail("scalars", fmt::format("the task {} gives no value for the scalar {}", task.name, scalar.name));
}

}  // namespace

Catalogue::Catalogue(fs::path home) : home_(std::move(home)) {}

std::shared_ptr<const Op> Catalogue::op(const std::string& name) {
    if (const auto known = ops_.find(name); known != ops_.end()) return known->second;
    std::error_code ignored;
    const bool plain = !name.empty() && name.find('/') == std::string::npos && name[0] != '.';
    if (!plain || !fs::is_directory(home_ / "ops" / name, ignored)) {
        std::vector<std::string> names;
        for (const fs::directory_entry& entry : fs::directory_iterator(home_ / "ops", ignored))
            names.push_back(entry.path().filename().string());
        throw Error("there is no op {}{}", name, did_you_mean(name, names));
    }
    return ops_[name] = std::make_shared<const Op>(read_op(home_ / "ops" / name));
}

std::vector<Task> Catalogue::read_tasks(const fs::path& file, bool own) {
    const toml::table parsed = read_toml(file);
    const TomlTable table(parsed, shown(file));
    const std::string family = table.text("family", file.stem().string()), model = table.text("model", "");
    std::vector<Task> tasks;
    for (const std::string& key : table.keys()) {
        if (key == "family" || key == "model") continue;
        const TomlTable entry = table.table(key);
        entry.allow({"op", "axes", "scalars", "options", "verify", "bench", "small", "note"});
        Task task{.name = own ? shown(file) + "#" + key : family + "_" + key, .family = family, .model = model};
        const std::string op_name = entry.text("op");
        try {
            task.op = op(op_name);
        } catch (const Error& error) {
            entry.fail("op", error.what());
        }
        task.axes = read_axes(entry.table("axes"), *task.op);
        task.scalars = read_scalars(entry.table("scalars"), *task.op);
        task.options = read_options(entry.table("options"), *task.op);
        check_scalars(entry, task);
        task.verify = read_workloads(entry.table("verify"), task);
        task.bench = entry.has("bench") ? read_workloads(entry.table("bench"), task) : task.verify;
        if (entry.has("small")) task.small = read_workloads(entry.table("small"), task);
        tasks.push_back(std::move(task));
    }
    return tasks;
}

const std::vector<Task>& Catalogue::tasks() {
    if (tasks_read_) return tasks_;
    std::set<std::string> names;
    for (const fs::path& file : sorted_entries(home_ / "tasks", {".toml"}))
        for (Task& task : read_tasks(file, false)) {
            if (!names.insert(task.name).second) throw Error("{}: there are two tasks {}", shown(file), task.name);
            tasks_.push_back(std::move(task));
        }
    tasks_read_ = true;
    return tasks_;
}

Task Catalogue::task(std::string_view name) {
    constexpr std::string_view kLong = "cuda_rlm.tasks.";
    if (const size_t hash = name.rfind('#'); hash != std::string_view::npos) {
        const fs::path file(name.substr(0, hash));
        const std::string wanted(name.substr(hash + 1));
        std::vector<std::string> names;
        for (Task& task : read_tasks(file, true)) {
            names.push_back(task.name.substr(task.name.rfind('#') + 1));
            if (names.back() == wanted) return std::move(task);
        }
        if (names.empty()) throw UsageError("{} has no tasks", shown(file));
        throw UsageError("{} has no task {}; it has {}", shown(file), wanted, joined(names, ", "));
    }
    if (name.ends_with(".toml"))
        throw UsageError("{0} is a file of tasks; name one of them as {0}#NAME", shown(fs::path(name)));
    if (name.starts_with(kLong)) name.remove_prefix(kLong.size());
    std::vector<std::string> names;
    for (const Task& task : tasks()) {
        if (task.name == name) return task;
        names.push_back(task.name);
    }
    throw UsageError("there is no task {}{}; `cuda-rlm tasks` lists them", name, did_you_mean(name, names));
}

std::vector<fs::path> seed_files(const Op& op) {
    std::vector<fs::path> files = sorted_entries(op.folder / "seeds", {".cu", ".py"});
    std::stable_partition(files.begin(), files.end(), [](const fs::path& file) { return file.stem() == "plain"; });
    return files;
}

}  // namespace recuda
