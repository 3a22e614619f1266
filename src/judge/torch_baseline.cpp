#include "judge/torch_baseline.h"

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.h"
#include "build/torch_python.h"
#include "judge/cases.h"
#include "judge/torch_process.h"
#include "task/op.h"

namespace recuda {
namespace {

constexpr double kLoadDeadlineS = 300;  // torch.compile may start a C compiler
constexpr double kTimeDeadlineS = 120;

/// The inputs of a case behind one another in a file, and where each lies.
Json write_inputs(const Task& task, const Case& one, const std::filesystem::path& path) {
    Json inputs = Json::array();
    std::string bytes;
    for (const TensorSpec& input : task.op->inputs) {
        const Tensor& contents = one.inputs.at(input.name);
        inputs.push_back({{"name", input.name},
                          {"dtype", name(input.dtype)},
                          {"shape", shape_of(input, one.axes)},
                          {"row_stride", row_stride(input, one.axes)},
                          {"offset", bytes.size()},
                          {"bytes", contents.bytes.size()}});
        bytes.append(reinterpret_cast<const char*>(contents.bytes.data()), contents.bytes.size());
    }
    write_atomically(path, bytes);
    return inputs;
}

/// What `run` of reference.py may take beside tensors.
Json arguments_of(const Task& task, const Axes& axes) {
    Json arguments = Json::object();
    for (const auto& [name, value] : axes) arguments[name] = value;
    for (const auto& [name, value] : task.scalars) arguments[name] = value;
    for (const auto& [name, value] : task.options) arguments[name] = value;
    return arguments;
}

/// The written tensors of one run; throws Error for what they cannot be.
Outputs read_outputs(const Task& task, const Axes& axes, const Json& kept) {
    const std::string bytes = read_file(kept.at("file").get<std::string>());
    std::map<std::string, const Json*> found;
    for (const Json& tensor : kept.at("tensors")) found[tensor.at("name").get<std::string>()] = &tensor;
    Outputs outputs;
    for (const TensorSpec* spec : written_tensors(*task.op)) {
        if (!found.contains(spec->name)) throw Error("{} is not among what it computed", spec->name);
        const Json& seen = *found.at(spec->name);
        Tensor tensor(spec->dtype, shape_of(*spec, axes));
        if (seen.at("dtype") != name(spec->dtype) || seen.at("shape").get<Shape>() != tensor.shape)
            throw Error("{} is {}{}, not {} of the op's shape", spec->name, seen.at("dtype").get<std::string>(),
                        dump(seen.at("shape")), name(spec->dtype));
        const size_t offset = seen.at("offset");
        if (offset > bytes.size() || tensor.bytes.size() > bytes.size() - offset)
            throw Error("{} is cut short", spec->name);
        std::memcpy(tensor.bytes.data(), bytes.data() + offset, tensor.bytes.size());
        outputs.emplace(spec->name, std::move(tensor));
    }
    return outputs;
}

class TorchBaseline : public Baseline {
 public:
    TorchBaseline(std::string name, std::string about, TorchOptions options, const BaselineParts& parts)
        : name_(std::move(name)),
          about_(std::move(about)),
          options_(std::move(options)),
          task_(parts.place.task),
          cases_(parts.cases) {}

    const std::string& name() const override { return name_; }
    std::string about() const override { return about_; }
    void forget() override {}  // its process has a context of its own
    /// Another process and another compilation would take ten seconds and more: both stay, buffers and inputs are new.
    void renew() override {
        loaded_.clear();
        failure_.reset();
        if (!process_) return;
        try {
            process_->call({{"call", "forget"}}, kTimeDeadlineS);
        } catch (const Error&) {
            process_.reset();  // the next timing starts one
        }
    }

    Timed time(const Axes& axes, uint32_t samples) override {
        if (failure_) return *failure_;
        const Case& one = cases_.at(axes, Battery::normal);
        try {
            if (!process_) process_ = std::make_unique<TorchProcess>(options_);
            load(one);
            const Json told =
                process_->call({{"call", "time"}, {"workload", shown(axes)}, {"samples", samples}}, kTimeDeadlineS);
            Timed timed = timed_from(told);
            judge(one, told, timed);
            return timed;
        } catch (const DeviceLost&) {
            throw;  // the judge's device, not PyTorch
        } catch (const Error& error) {
            // What failed once fails again: the session need not wait for it a second time.
            process_.reset();
            failure_ = Timed{.outcome = Outcome::launch_refused, .log = error.what()};
            return *failure_;
        }
    }

 private:
    void load(const Case& one) {
        const std::string workload = shown(one.axes);
        if (loaded_.contains(workload)) return;
        const std::filesystem::path file = process_->folder() / "inputs";
        const Json inputs = write_inputs(task_, one, file);
        process_->call({{"call", "load"},
                        {"workload", workload},
                        {"file", file.string()},
                        {"inputs", inputs},
                        {"arguments", arguments_of(task_, one.axes)}},
                       kLoadDeadlineS);
        loaded_.insert(workload);
    }

    static Timed timed_from(const Json& told) {
        Timed timed;
        timed.samples_ns = told.at("samples_ns").get<std::vector<double>>();
        timed.clock_mhz = told.at("clock_mhz").get<std::vector<double>>();
        timed.method = told.at("method");
        timed.runs_per_sample = told.at("runs_per_sample");
        timed.cold = told.at("cold");
        return timed;
    }

    void judge(const Case& one, const Json& told, Timed& timed) {
        for (const Json& kept : told.at("outputs")) {
            const Finding finding = cases_.judge(one, read_outputs(task_, one.axes, kept), one.own);
            if (finding.right()) continue;
            timed = {.outcome = Outcome::wrong, .log = "after timing: " + finding.detail};
            return;
        }
    }

    std::string name_, about_;
    TorchOptions options_;
    const Task& task_;
    Cases& cases_;
    std::unique_ptr<TorchProcess> process_;
    std::set<std::string> loaded_;
    std::optional<Timed> failure_;
};

Offer offer(const BaselineParts& parts, std::string name, const std::string& mode, bool graph) {
    const Op& op = *parts.place.task.op;
    const std::filesystem::path reference = op.folder / "reference.py";
    if (!std::filesystem::is_regular_file(reference))
        return {nullptr, fmt::format("op {} has no reference.py", op.name)};
    const Tool& python = torch_python();
    if (python.state != Tool::State::ok) return {nullptr, "PyTorch is missing: " + python.advice};
    std::string about = fmt::format("ops/{}/reference.py in PyTorch {}, {}, {}", op.name, python.version,
                                    mode == "eager" ? "eager" : "torch.compile in its default mode",
                                    graph ? "as a CUDA graph" : "kernel by kernel behind a held stream");
    const DeviceInfo& info = parts.place.device.info();
    TorchOptions options{python.path, reference.string(), mode, graph, info.ordinal, info.l2_bytes};
    return {std::make_unique<TorchBaseline>(std::move(name), std::move(about), std::move(options), parts), ""};
}

}  // namespace

Offer offer_torch_eager(const BaselineParts& parts) { return offer(parts, "torch-eager", "eager", false); }
Offer offer_torch_eager_graph(const BaselineParts& parts) { return offer(parts, "torch-eager-graph", "eager", true); }
Offer offer_torch_compile(const BaselineParts& parts) { return offer(parts, "torch-compile", "compile", false); }
Offer offer_torch_compile_graph(const BaselineParts& parts) {
    return offer(parts, "torch-compile-graph", "compile", true);
}

}  // namespace recuda
