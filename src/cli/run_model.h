// What `run` has beside seeds and tuner: the language model with its program, the kernel index, and the policy that
// mixes them.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lm/open.h"
#include "lm/preset.h"
#include "search/mixer.h"
#include "search/policy.h"

namespace recuda {

class Evaluator;
class KernelIndex;
class Program;
class RunFolder;
class Space;
struct DeviceInfo;
struct ModelParts;
struct Task;

struct RunModelOptions {
    Preset preset;
    LmOptions lm;
    Policy policy;
    bool retrieval = false;
    bool explores = false;  // before a proposal: the program `rlm`
    uint64_t seed = 0;
    size_t total = 0;                   // candidates
    std::filesystem::path own_program;  // of a run that is resumed; "": none
    std::string db;                     // main store by its option: what the index knows of candidates
};

class RunModel {
 public:
    /// Reads what is there to be read: the program's state, the index, which is made current first. Throws Error and
    /// UsageError for what cannot be used, before there is a run folder.
    explicit RunModel(RunModelOptions options);
    ~RunModel();

    struct Place {
        const Task& task;
        Space& space;
        const RunFolder& folder;
        Evaluator& evaluator;
        Proposer& tuner;
        std::string device;  // in words
        std::function<void(const std::string&)> say;
        std::function<void(std::string_view)> asking;
    };
    /// The proposer of the run: all of them by the policy, or the tuner where it is alone. Saves the program's state
    /// where there was none, and its copy in the run's folder. What `place` names must outlive this.
    Proposer& join(const Place& place);

    /// What was asked so far; nothing where there is no model.
    std::optional<Spent> spent() const;

 private:
    ModelParts parts_of(const Place& place);
    bool has_model() const { return options_.preset.kind != PresetKind::offline; }

    RunModelOptions options_;
    std::unique_ptr<Program> program_;
    bool is_saved_ = false;  // there was a state
    std::unique_ptr<KernelIndex> index_;
    std::unique_ptr<Documents> documents_;
    std::unique_ptr<OpenModel> model_;
    std::unique_ptr<ModelProposer> proposer_;
    std::unique_ptr<Proposer> retrieved_, mixer_;
};

/// The GPU in words for a prompt, and how candidates are judged on it.
std::string device_brief(const DeviceInfo& info);

}  // namespace recuda
