#include "cli/run_model.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/paths.h"
#include "base/process.h"
#include "device/device.h"
#include "lm/program.h"
#include "retrieval/index.h"
#include "search/documents.h"
#include "search/model_proposer.h"
#include "search/space.h"
#include "search/steps/explore_step.h"
#include "search/steps/program.h"
#include "store/run_folder.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

/// Where the program's state lives, for every run below the current folder.
fs::path state_file() { return fs::path("artifacts/dspy/kernel-search-module/program.json"); }

bool is_there(const fs::path& path) {
    std::error_code ignored;
    return !path.empty() && fs::exists(path, ignored);
}

}  // namespace

RunModel::RunModel(RunModelOptions options) : options_(std::move(options)) {
    if (options_.retrieval) {
        make_index_current(options_.db);
        index_ = std::make_unique<KernelIndex>(index_folder());
    }
    if (!has_model()) return;
    program_ = std::make_unique<Program>(kernel_search_program());
    is_saved_ = is_there(state_file());
    if (is_there(options_.own_program))
        program_->load(options_.own_program);
    else if (is_saved_)
        program_->load(state_file());
    open_model(options_.preset, options_.lm);  // options that do not fit end the run here
}

RunModel::~RunModel() = default;

Proposer& RunModel::join(const Place& place) {
    const fs::path& folder = place.folder.path();
    if (index_) {
        documents_ = std::make_unique<Documents>(*index_, folder / "retrieved.jsonl");
        const double share = std::ceil(options_.policy.retrieved * static_cast<double>(options_.total));
        retrieved_ = make_retrieved(*documents_, place.task, place.space, static_cast<size_t>(share));
    }
    if (has_model()) {
        if (!is_saved_) program_->save(state_file());
        program_->save(folder / "program.json");
        options_.lm.record = folder / "prompts";
        options_.lm.cache = cache_folder() / "answers";
        model_ = open_model(options_.preset, options_.lm);
        proposer_ = make_model_proposer(parts_of(place), options_.policy);
    }
    if (!proposer_ && !retrieved_) return place.tuner;
    mixer_ = make_mixer({.tuner = place.tuner, .model = proposer_.get(), .retrieved = retrieved_.get()},
                        options_.policy, options_.total);
    return *mixer_;
}

ModelParts RunModel::parts_of(const Place& place) {
    const auto source = [&run = place.folder](const Evaluation& one) { return run.candidate(one).file->text; };
    ModelParts parts{.program = *program_,
                     .model = *model_,
                     .task = place.task,
                     .space = place.space,
                     .prompts = Prompts({.task = place.task,
                                         .device = place.device,
                                         .documents = documents_.get(),
                                         .most_documents = options_.policy.retrieved_documents,
                                         .by_diagnostic = options_.policy.retrieve_by_diagnostic}),
                     .source = source,
                     .say = place.say,
                     .asking = place.asking,
                     .spent = [this] { return model_->spent(); },
                     .name = [this] { return model_->model(); }};
    if (!options_.explores) return parts;
    const ExploreParts exploring{.program = *program_,
                                 .model = *model_,
                                 .task = place.task,
                                 .space = place.space,
                                 .evaluator = place.evaluator,
                                 .documents = documents_.get(),
                                 .source = source,
                                 .seed = options_.seed,
                                 .worker = {this_program(), "explore-worker"}};
    parts.explore = [exploring](const Prompt& prompt, std::span<const Evaluation> screened, const Asking& asking,
                                const std::stop_token& stop) {
        return explore_proposal(exploring, prompt, screened, asking, stop);
    };
    return parts;
}

std::optional<Spent> RunModel::spent() const { return model_ ? std::optional(model_->spent()) : std::nullopt; }

std::string device_brief(const DeviceInfo& info) {
    std::string text = fmt::format(
        "{}, target {}: {} SMs, at most {} threads and {} bytes of shared memory a block (opted in), {} threads and "
        "{} registers of 32 bits an SM, L2 {} MiB",
        info.name, info.target, info.sm_count, info.max_threads_per_block, info.max_shared_bytes,
        info.max_threads_per_sm, info.registers_per_sm, info.l2_bytes >> 20);
    if (info.memory_bytes_per_ns > 0) text += fmt::format(", memory {:.0f} GB/s", info.memory_bytes_per_ns);
    text += ".\n";
    return text +
           (info.measures_time
                ? "A virtual GPU checks small workloads first: bounds, alignment, initialisation, races, barriers. "
                  "What passes is verified and timed on this card, with data that is not in the L2.\n"
                : "The candidate runs on a virtual GPU that stands for this target: it checks bounds, alignment, "
                  "initialisation, races and barriers, and counts traffic and instructions. Candidates are "
                  "ranked by an estimate from the counts.\n");
}

}  // namespace recuda
