// `cuda-rlm run`: the main job.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/progress.h"
#include "base/text.h"
#include "build/builder.h"
#include "build/toolchain.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/device_choice.h"
#include "cli/lm_words.h"
#include "cli/run_model.h"
#include "device/device.h"
#include "device/limits.h"
#include "judge/baselines.h"
#include "judge/judge.h"
#include "lm/preset.h"
#include "report/report.h"
#include "report/table.h"
#include "search/proposer.h"
#include "search/search.h"
#include "search/space.h"
#include "store/merge.h"
#include "store/run_folder.h"
#include "store/store.h"
#include "task/catalogue.h"

namespace recuda {
namespace {

constexpr int64_t kNotGiven = std::numeric_limits<int64_t>::min();

struct RunWords {
    std::string task, preset, out_dir, db, baselines = "plain", program = "kernel-search", policy;
    LmWords lm;
    int64_t num_candidates = 24, repair_attempts = kNotGiven;  // not given: the policy's
    double time_limit_s = 0;
    bool retrieval = false, resume = false, no_filter = false;
    DeviceChoice device;

    bool parse(CommandLine& line) {
        line.option("--task", "NAME", task, "The task: nano30b_rmsnorm, or path/to/file.toml#name for your own");
        line.option("--preset", "P", preset,
                    "Language model to ask (cuda-rlm presets); offline: none, seeds and tuner alone");
        line.option("--num-candidates", "N", num_candidates, "Distinct candidates to judge in all (24)");
        line.option("--repair-attempts", "N", repair_attempts,
                    "How often a model may mend a candidate (2; a policy may say otherwise)");
        line.option("--time-limit", "S", time_limit_s, "Seconds after which the search ends with what it has (none)");
        line.flag("--enable-retrieval", retrieval,
                  "Use the kernel index (cuda-rlm index build): its kernels as candidates, its notes in prompts");
        line.option("--program", "NAME", program,
                    "Language-model program: kernel-search, or rlm, which explores before a proposal");
        line.option("--policy", "F", policy, "Policy that steers the search, a JSON file");
        lm.declare(line);
        line.option("--baselines", "a,b", baselines,
                    "Competitors to compare with (plain); " + joined(baseline_names(), ", "));
        line.option("--out-dir", "D", out_dir, "Run folder; default: artifacts/runs/TASK/TIME");
        line.option("--db", "FILE", db, "Main store; default: RECUDA_DB, else results.duckdb in the current folder");
        line.flag("--resume", resume, "Go on with the run in --out-dir");
        line.flag("--no-vgpu-filter", no_filter,
                  "On a GPU: do not screen candidates on the virtual GPU before the GPU sees them");
        device.declare(line);
        line.example("cuda-rlm run --task nano30b_rmsnorm --preset offline --out-dir artifacts/rmsnorm");
        return line.parse();
    }

    SearchOptions search_options(const std::string& used_preset) const {
        if (num_candidates < 1 || num_candidates > 1'000'000)
            throw UsageError("--num-candidates takes a number from 1 to 1000000");
        if (repair_attempts != kNotGiven && (repair_attempts < 0 || repair_attempts > 100))
            throw UsageError("--repair-attempts takes a number from 0 to 100");
        if (const std::vector<std::string> known{"kernel-search", "rlm"};
            std::find(known.begin(), known.end(), program) == known.end())
            throw UsageError("there is no program {}{}; there are kernel-search and rlm", one_line(program, 80),
                             did_you_mean(program, known));
        if (!(time_limit_s >= 0)) throw UsageError("--time-limit takes seconds");
        SearchOptions options{.preset = used_preset,
                              .num_candidates = static_cast<size_t>(num_candidates),
                              .time_limit_s = time_limit_s,
                              .seed = device.seed,
                              .retrieval = retrieval,
                              .program = program};
        options.baselines.clear();
        for (const std::string_view baseline : split(baselines, ','))
            if (!trimmed(baseline).empty()) options.baselines.emplace_back(trimmed(baseline));
        return options;
    }

    Policy search_policy() const {
        Policy read = policy.empty() ? Policy() : read_policy(policy);
        if (repair_attempts != kNotGiven) read.repair_attempts = static_cast<size_t>(repair_attempts);
        return read;
    }

    std::filesystem::path program_of_run() const {
        return resume && !out_dir.empty() ? std::filesystem::path(out_dir) / "program.json" : std::filesystem::path();
    }

    RunFolder open(const Task& of, const SearchOptions& options, const Evaluator& judge) const {
        const std::filesystem::path out =
            out_dir.empty() ? default_run_folder(of.name) : std::filesystem::path(out_dir);
        return RunFolder(out, resume ? RunFolder::Open::resume : RunFolder::Open::fresh,
                         {.task = of.name,
                          .preset = options.preset,
                          .device = judge.device_kind() + " " + judge.device_target(),
                          .asked = shown(options),
                          .environment = judge.device_description()});
    }
};

/// The op's seeds; those in Triton only where Triton is. What is left out is named in `notes`.
std::vector<KernelFile> seeds_of(const Task& task, std::vector<std::string>& notes) {
    std::vector<KernelFile> seeds;
    for (const std::filesystem::path& path : seed_files(*task.op)) {
        KernelFile file = read_kernel_file(path);
        if (file.language == Language::triton && triton_python() == nullptr) {
            notes.push_back(fmt::format("the seed {} is left out: there is no Triton here", file.name));
            continue;
        }
        check_names(file, *task.op);
        seeds.push_back(std::move(file));
    }
    return seeds;
}

/// Progress on a terminal: stage, candidates, the best so far, what a model is asked and what that cost, the time left.
class SearchProgressLine {
 public:
    SearchProgressLine(const std::string& task, const RunModel& model, double time_limit_s)
        : line_(task), model_(model), time_limit_s_(time_limit_s) {}

    void operator()(const SearchProgress& at) {
        best_ = at.best != nullptr ? std::optional(*at.best) : std::nullopt;
        at_ = at;
        at_.best = nullptr;
        draw();
    }

    /// A step of a model begins, or ends with "".
    void asking(std::string_view step) {
        step_ = step;
        draw();
    }

    /// A line of its own above the progress.
    void tell(const std::string& words) {
        line_.clear();
        recuda::tell(words);
        draw();
    }

 private:
    void draw() {
        const SearchProgress& at = at_;
        std::string words = fmt::format("{} {}/{}", name(at.stage), at.done, at.total);
        if (best_ && best_->median_ns)
            words += fmt::format("  best {:.2f} us", *best_->median_ns / 1000);
        else if (best_ && best_->estimate)
            words += fmt::format("  best estimate {:.3g}", *best_->estimate);
        if (const std::optional<Spent> spent = model_.spent()) words += shown(*spent);
        if (!step_.empty()) words += "  asking " + step_;
        if (time_limit_s_ > 0) words += fmt::format("  {:.0f} s left", std::max(0.0, time_limit_s_ - seconds()));
        line_.update(static_cast<double>(at.done), static_cast<double>(at.total), words);
    }

    static std::string shown(const Spent& spent) {
        std::string words = fmt::format("  {} calls, {} tokens", spent.calls, spent.usage.tokens());
        if (spent.usage.cost_usd > 0) words += fmt::format(", {:.2f} USD", spent.usage.cost_usd);
        return words;
    }

    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
    }

    static std::string_view name(SearchProgress::Stage stage) {
        switch (stage) {
            case SearchProgress::Stage::screening:
                return "screening";
            case SearchProgress::Stage::race:
                return "race";
            case SearchProgress::Stage::whole:
                return "finalists";
            case SearchProgress::Stage::proof:
                return "proof, sessions";
        }
        return "";
    }

    Progress line_;
    const RunModel& model_;
    double time_limit_s_;
    std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
    SearchProgress at_;
    std::optional<Evaluation> best_;
    std::string step_;
};

/// Brings the run's rows into the main store; "" or what kept them out. What the run found is safe in its own folder
/// whatever happens here, so after an interrupt the main store is waited for only shortly.
std::string merge_into_main(const RunFolder& folder, const std::filesystem::path& main, bool interrupted,
                            const std::stop_token& stop) {
    LockWait wait{.seconds = 600, .stop = stop, .notice = tell};
    if (interrupted) wait = {.seconds = 10, .stop = {}, .notice = tell};
    try {
        merge_run(folder.store(), main, wait);
        return "";
    } catch (const Error& problem) {
        return fmt::format("{}; what was found is in {}, cuda-rlm merge-results brings it over later", problem.what(),
                           shown(folder.path()));
    }
}

}  // namespace

int run_command(CommandLine& line) {
    RunWords words;
    if (!words.parse(line)) return 0;
    if (words.task.empty()) throw UsageError("run needs --task NAME; `cuda-rlm tasks` lists them");
    const std::stop_token stop = stop_on_interrupt();
    const Task task = Catalogue(home_folder()).task(words.task);
    const Preset preset = usable_preset(read_presets(preset_folders()), words.preset);
    if (words.preset.empty()) tell("preset " + preset.name);
    SearchOptions options = words.search_options(preset.name);
    const Policy policy = words.search_policy();
    options.repair_attempts = static_cast<unsigned>(policy.repair_attempts);
    if (!words.policy.empty()) options.policy = dump(to_json(policy));
    RunModel model({.preset = preset,
                    .lm = words.lm.options(),
                    .policy = policy,
                    .retrieval = options.retrieval,
                    .explores = options.program == "rlm",
                    .seed = options.seed,
                    .total = options.num_candidates,
                    .own_program = words.program_of_run(),
                    .db = words.db});
    const std::filesystem::path main = main_store(words.db);
    check_store(main);

    std::unique_ptr<Device> device = make_device(words.device);
    const std::string device_words = device_brief(device->info());
    const std::unique_ptr<Builder> builder = make_builder();
    JudgeOptions judging{.target = words.device.target, .seed = words.device.seed, .baselines = options.baselines};
    judging.resources = preset.kind != PresetKind::offline;
    if (!words.no_filter) judging.filter_device = filter_for(device->info());
    const std::unique_ptr<Evaluator> judge = make_judge(task, std::move(device), *builder, judging);
    std::vector<std::string> notes;
    Space space(task, seeds_of(task, notes), workloads_of(task, judge->measures_time()), judge->limits(), options.seed);
    notes.insert(notes.end(), space.notes().begin(), space.notes().end());
    judge->prepare();  // what can fail here fails before there is a run folder
    for (const std::string& warning : judge->warnings()) notes.push_back(warning);
    for (const std::string& note : notes) tell(note);
    RunFolder folder = words.open(task, options, *judge);

    const std::unique_ptr<Proposer> tuner = make_tuner(space, options.num_candidates);
    const RunResult result = [&] {
        SearchProgressLine progress(task.name, model, options.time_limit_s);
        Proposer& proposer = model.join({.task = task,
                                         .space = space,
                                         .folder = folder,
                                         .evaluator = *judge,
                                         .tuner = *tuner,
                                         .device = device_words,
                                         .say = [&](const std::string& words) { progress.tell(words); },
                                         .asking = [&](std::string_view step) { progress.asking(step); }});
        try {
            return search({*judge, proposer, folder}, options, stop, std::ref(progress));
        } catch (const DeviceWedged& wedged) {
            // What was judged stays; no more can be.
            const std::string problem = merge_into_main(folder, main, true, stop);
            throw Error("{}; what was found until then is in {}, and --resume goes on{}{}", wedged.what(),
                        shown(folder.path()), problem.empty() ? "" : "; ", problem);
        }
    }();
    write_report(folder, result, notes);
    const bool interrupted = result.stopped_by == StoppedBy::interrupt;
    const std::string not_merged = merge_into_main(folder, main, interrupted, stop);
    if (line.json())
        print_json(to_json(result));
    else
        print_coloured(summary(result, colours(1) ? Colours::on : Colours::off));
    if (not_merged.empty()) return interrupted ? 130 : 0;
    if (!interrupted) throw Error("{}", not_merged);
    tell(not_merged);
    return 130;
}

}  // namespace recuda
